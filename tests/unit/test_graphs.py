"""CUDA graphs change nothing but the speed."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.fabric import Fabric
from torch import nn

from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.graphs import use_graphs
from endotransfer.engine.run import train

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_a_processor_and_batch_statistics_are_left_alone() -> None:
    net = nn.Identity()
    assert use_graphs(Fabric(accelerator="cpu", devices=1), net, "frozen") is None
    assert "forward" not in vars(net)


@needs_cuda  # pragma: needs cuda
@pytest.mark.parametrize("preset", ["paper", "robust"])
def test_training_with_graphs_is_training_without(make_experiment: Any, tmp_path: Path, preset: str) -> None:
    settings = {"accelerator": "cuda", "epochs": 3, "steps_per_epoch": 8, "optimiser": "sgd"}
    for name, graphs in (("with", True), ("without", False)):
        experiment = make_experiment("tagged", "semantic_transfer", preset, graphs=graphs, **settings)
        # Without dropout: a graph draws its noise in another order.
        model = experiment.model.model_copy(update={"dropout": 0.0})
        train(experiment.model_copy(update={"model": model}), tmp_path / name)
    one, two = (load_latest(tmp_path / run / "checkpoints")[0].tensors["weights"] for run in ("with", "without"))
    for key, value in one.items():
        assert torch.allclose(value.float(), two[key].float(), rtol=1e-3, atol=1e-4), key
