"""Broken street sets at the command line: exit code 3, one sentence with the file in it, no run folder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.recipes import FOLDER as RECIPES
from tests.robust.conftest import DATA, says
from tests.street_trees import stripes, write_cityscapes, write_gta5, write_synthia, write_wide_png

Command = Callable[..., tuple[int, str]]

TINY = (
    "model.backbone=test_resnet", "model.pretrained=false", "model.norm=group", "model.multi_grid=null",
    "data.size=32", "data.source_size=null", "training.augment.crop=null", "training.epochs=1",
    "training.steps_per_epoch=1", "training.workers=0", "training.precision=32", "method=source_only",
)  # fmt: skip


@pytest.fixture
def train(command: Command, tmp_path: Path) -> Callable[[str], tuple[int, str]]:
    """Train a recipe on the trees under `tmp_path`."""

    def run(recipe: str) -> tuple[int, str]:
        source = {"gta": "gta5", "synthia": "RAND_CITYSCAPES"}[recipe]
        settings = [*TINY, f"data.source={tmp_path / source}", f"data.target={tmp_path / 'cityscapes'}"]
        asked = [word for setting in settings for word in ("--set", setting)]
        return command("train", RECIPES / f"{recipe}.yaml", "--out", tmp_path / "run", *asked)

    write_cityscapes(tmp_path / "cityscapes")
    write_gta5(tmp_path / "gta5")
    write_synthia(tmp_path / "RAND_CITYSCAPES")
    return run


def wide(labels: np.ndarray) -> np.ndarray:
    return np.stack([labels, labels, labels], 2)


def missing(root: Path) -> None:
    (root / "gta5" / "labels" / "00002.png").unlink()


def unknown_number(root: Path) -> None:
    Image.fromarray(stripes(range(60, 80), 0)).save(root / "gta5" / "labels" / "00002.png")


def unknown_number_in_a_test_label(root: Path) -> None:
    name = "frankfurt_000000_000019_gtFine_labelIds.png"
    Image.fromarray(stripes(range(60, 80), 0)).save(root / "cityscapes" / "gtFine" / "val" / "frankfurt" / name)


def other_size(root: Path) -> None:
    write_wide_png(root / "RAND_CITYSCAPES" / "GT" / "LABELS" / "0000001.png", wide(stripes(range(23), 0, (20, 30))))


def wrong_number(root: Path) -> None:
    write_wide_png(root / "RAND_CITYSCAPES" / "GT" / "LABELS" / "0000001.png", wide(stripes(range(23, 43), 0)))


@pytest.mark.parametrize(
    ("recipe", "damage", "words"),
    [
        ("gta", missing, [r"gta5/labels/00002\.png", "is missing, though its image is there"]),
        ("gta", unknown_number, [r"gta5/labels/00002\.png", "GTA5 numbers its labels from 0 to 34"]),
        ("gta", unknown_number_in_a_test_label, [r"_gtFine_labelIds\.png", "Cityscapes numbers its labels from 0"]),
        ("synthia", other_size, [r"LABELS/0000001\.png", "is 30 x 20 pixels, but its image is 80 x 40"]),
        ("synthia", wrong_number, [r"LABELS/0000001\.png", "SYNTHIA numbers its labels from 0 to 22"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_fault_is_one_sentence(
    train: Callable[[str], tuple[int, str]], tmp_path: Path, recipe: str, damage: Callable[[Path], None],
    words: list[str],
) -> None:  # fmt: skip
    damage(tmp_path)
    code, output = train(recipe)
    assert code == DATA
    says(output, *words)
    assert not (tmp_path / "run").exists()


def test_whole_trees_train(train: Callable[[str], tuple[int, str]], tmp_path: Path, command: Command) -> None:
    code, output = train("synthia")
    assert code == 0, output
    code, output = command("evaluate", tmp_path / "run", "--data", tmp_path / "cityscapes", "--split", "val")
    assert code == 0, output
