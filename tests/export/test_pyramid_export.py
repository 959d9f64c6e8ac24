"""Transformers and ConvNeXt leave as ONNX: what ONNX Runtime says is what torch says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from timm.models import register_model
from torch import nn

from endotransfer.engine.model_folder import load_model
from endotransfer.export.network import INPUT, export_network
from tests.model_folders import write_model


@pytest.fixture
def _three_blocks() -> Iterator[None]:
    """A ViT of three blocks: exporting takes a second for each."""

    def three_block_vit(pretrained: bool = False, **settings: Any) -> nn.Module:
        return timm.create_model("test_vit", pretrained=pretrained, depth=3, **settings)

    register_model(three_block_vit)
    yield
    for names in (timm.models._registry._model_entrypoints, timm.models._registry._model_to_module):
        names.pop("three_block_vit", None)


@pytest.mark.usefixtures("_three_blocks")
@pytest.mark.parametrize("backbone", ["three_block_vit", pytest.param("test_convnext", marks=pytest.mark.slow)])
def test_the_network_equals_torch(tmp_path: Path, backbone: str) -> None:
    """At a size to which images are fitted inside: position embeddings and images are both resized in the graph."""
    onnxruntime = pytest.importorskip("onnxruntime")
    model = load_model(write_model(tmp_path / "model", shape=(40, 72), backbone=backbone))
    graph = export_network(model, (40, 72))
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    images = torch.rand(3, 3, 40, 72, generator=torch.Generator().manual_seed(0))
    logits, tags, features = session.run(None, {INPUT: images.numpy()})
    expected = model(images)
    assert expected.tag_logits is not None
    torch.testing.assert_close(torch.from_numpy(logits), expected.logits, rtol=0, atol=1e-4)
    torch.testing.assert_close(torch.from_numpy(tags), expected.tag_logits, rtol=0, atol=1e-4)
    torch.testing.assert_close(torch.from_numpy(features), expected.features.mean((2, 3)), rtol=0, atol=1e-4)
