"""What is chosen by the backbone's family, and that whatever is written goes before."""

import pytest
import torch

from endotransfer.config import ModelConfig, TrainingConfig
from endotransfer.models.backbones.families import (
    DILATED,
    PYRAMID,
    PYRAMID_FAMILIES,
    RESNET,
    FamilyChoice,
    backbones_by_head,
    choice_for,
    settled_model,
    settled_training,
)
from endotransfer.models.segmenters.segmenter import build_segmenter


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("resnet50", RESNET),
        ("resnet50.a1_in1k", RESNET),
        ("seresnext50_32x4d", RESNET),
        ("mobilenetv2_100", DILATED),
        ("skresnet18", DILATED),  # its blocks are of another kind
        ("test_efficientnet", DILATED),
        ("convnext_tiny", PYRAMID),
        ("test_vit", PYRAMID),
        ("sam2_hiera_tiny", PYRAMID),
        ("no_such_network", RESNET),  # refused where it is built
    ],
)
def test_the_family_decides(name: str, choice: FamilyChoice) -> None:
    assert choice_for(name) == choice


def test_the_default_is_the_papers() -> None:
    model, training = settled_model(ModelConfig()), settled_training(TrainingConfig(), "resnet50")
    assert (model.head, model.multi_grid) == ("deeplab_v3", (1, 2, 4))
    assert (training.optimiser, training.lr, training.weight_decay) == ("adam", 1e-4, 0.0)


@pytest.mark.parametrize("name", ["mobilenetv2_100", "resnet18", "test_vit"])
def test_no_family_needs_a_word_on_its_grid(name: str) -> None:
    model = settled_model(ModelConfig(backbone=name, pretrained=False, norm="group", aspp_channels=8))
    assert (model.multi_grid is None) == (name != "resnet18")
    assert build_segmenter(model, 2, tags=True)(torch.zeros(1, 3, 64, 64)).logits.shape == (1, 2, 8, 8)


def test_a_pyramid_learns_slowly() -> None:
    model, training = settled_model(ModelConfig(backbone="test_vit")), settled_training(TrainingConfig(), "test_vit")
    assert (model.head, model.multi_grid) == ("pyramid", None)
    assert (training.optimiser, training.lr, training.weight_decay) == ("adamw", 5e-5, 0.01)


def test_what_is_written_wins() -> None:
    model = ModelConfig(backbone="resnet50", head="pyramid")
    assert (settled_model(model).head, settled_model(model).multi_grid) == ("pyramid", None)
    assert settled_model(ModelConfig(backbone="test_convnext", head="deeplab_v3")).head == "deeplab_v3"
    assert settled_model(ModelConfig(multi_grid=None)).multi_grid is None
    written = TrainingConfig(optimiser="sgd", lr=0.1)
    assert settled_training(written, "test_vit").model_dump() == {**written.model_dump(), "weight_decay": 0.0}
    assert settled_training(TrainingConfig(weight_decay=0.3), "test_vit").weight_decay == 0.3


def test_settling_twice_changes_nothing() -> None:
    for name in ("resnet18", "mobilenetv2_100", "test_vit"):
        model, training = settled_model(ModelConfig(backbone=name)), settled_training(TrainingConfig(), name)
        assert settled_model(model) == model and settled_training(training, name) == training


def test_the_list_tells_the_head_of_every_name() -> None:
    heads = backbones_by_head()
    assert list(heads) == sorted(heads)
    assert (heads["resnet50"], heads["convnext_tiny"], heads["sam2_hiera_tiny"]) == ("deeplab_v3", "pyramid", "pyramid")
    assert list(PYRAMID_FAMILIES) == sorted(PYRAMID_FAMILIES)
