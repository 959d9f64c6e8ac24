"""From two folders of a hospital to a trained model and its masks: four commands, and no file made by hand."""

import csv
import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from endotransfer.cli.main import app
from tests.cli.hospital import build

# What `init` chose for this machine, made short; nothing here is needed for it to run.
SHORT = (
    "training.epochs=2", "training.steps_per_epoch=1", "training.batch_source=2", "training.batch_target=2",
    "training.accelerator=cpu", "training.workers=0", "training.loggers=[]",
)  # fmt: skip


def _say(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, taught: Path) -> Path:
    """Everything that the four commands wrote."""
    root = tmp_path_factory.mktemp("hospital")
    for name in ("Gastroskopie", "Kapsel"):
        _say("data", "import", "table", build(root / name), root / f"{name}-native", "--lesion", "Polyp")
    experiment = root / "experiment.yaml"
    _say("init", root / "Gastroskopie-native", root / "Kapsel-native", "--out", experiment, "--weights", taught)
    changes = [part for setting in SHORT for part in ("--set", setting)]
    _say("train", experiment, "--out", root / "run", *changes)
    return root


def test_there_is_a_model_that_was_measured(trained: Path) -> None:
    results = json.loads((trained / "run" / "results.json").read_text())
    assert results["images"] + results["unlabelled_images"] > 0 and results["method"] == "tag_transfer"
    assert {path.name for path in (trained / "run" / "model").iterdir()} == {
        "README.md", "config.json", "weights.safetensors",
    }  # fmt: skip


def test_it_draws_masks_on_the_hospitals_own_files(trained: Path) -> None:
    """Nested folders, endings in capitals, umlauts."""
    folder = trained / "Kapsel" / "Bilder" / "Patient_01"
    _say("predict", trained / "run", folder, "--out", trained / "predicted", "--device", "cpu")
    masks = sorted((trained / "predicted" / "masks").iterdir())
    assert len(masks) == len([*folder.iterdir()]) == 3
    assert all(Image.open(mask).size == (64, 48) for mask in masks)


def test_no_patient_stands_on_both_sides(trained: Path) -> None:
    with (trained / "Kapsel-native" / "labels.csv").open(newline="", encoding="utf-8") as file:
        sides = {(row["patient"], row["split"]) for row in csv.DictReader(file)}
    assert len(sides) == len({patient for patient, _ in sides}) == 8
    assert {split for _, split in sides} == {"train", "test"}
    assert "" not in {patient for patient, _ in sides}
