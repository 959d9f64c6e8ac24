"""The guide's table of backbones is what the code chooses."""

import pytest

from endotransfer.config import ModelConfig, TrainingConfig
from endotransfer.models.backbones.families import backbones_by_head, settled_model, settled_training
from tests.docs.pages import GUIDE, section, spelt


def rows() -> list[list[str]]:
    text = section("Backbone and normalisation", GUIDE)
    lines = [line for line in text.splitlines() if "| `deeplab_v3` |" in line or "| `pyramid` |" in line]
    return [line.strip("| ").split(" | ") for line in lines]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_every_example_gets_what_its_row_says(row: list[str]) -> None:
    family, examples, *told = row
    for name in (example.strip("`") for example in examples.split(", ")):
        model, training = settled_model(ModelConfig(backbone=name)), settled_training(TrainingConfig(), name)
        chosen = [model.head, model.multi_grid, training.optimiser, training.lr, training.weight_decay]
        assert [spelt(value) for value in chosen] == told, f"{family}: {name}"
        assert backbones_by_head()[name] == model.head


def test_there_is_a_row_for_each_choice() -> None:
    assert len(rows()) == 4
