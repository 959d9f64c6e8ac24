"""`endotransfer data import` and `data split` as a user sees them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.errors import ConfigError


@pytest.fixture
def download(tmp_path: Path) -> Path:
    """Plain folders with six images of different content, half of them with a lesion."""
    noise = np.random.default_rng(0)
    for name in ("images", "masks"):
        (tmp_path / "download" / name).mkdir(parents=True)
    for index in range(6):
        mask = np.zeros((40, 40), np.uint8)
        mask[: 20 * (index % 2)] = 255
        image = noise.integers(0, 255, (5, 5, 3), np.uint8).repeat(8, 0).repeat(8, 1)
        Image.fromarray(image).save(tmp_path / "download" / "images" / f"{index}.png")
        Image.fromarray(mask).save(tmp_path / "download" / "masks" / f"{index}.png")
    return tmp_path / "download"


def said(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_an_import_reports_what_it_wrote(download: Path, tmp_path: Path) -> None:
    assert "6 images (3 lesion, 3 normal), 6 masks" in said("import", "folders", download, tmp_path / "out")
    assert len(list((tmp_path / "out" / "images").iterdir())) == 6


@pytest.mark.parametrize("option", ["progress=1", "sufix=_m", "name=x", "=x"])
def test_an_unknown_option_is_answered_with_those_there_are(download: Path, tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match=r"importer 'folders' has no option .*suffix"):
        said("import", "folders", download, tmp_path / "out", "--option", option)
    assert not (tmp_path / "out").exists()


def test_an_option_without_a_value_is_refused(download: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="NAME=VALUE"):
        said("import", "folders", download, tmp_path / "out", "--option", "suffix")


def test_a_split_is_told_in_one_line_a_part(download: Path, tmp_path: Path) -> None:
    said("import", "folders", download, tmp_path / "out")
    assert said("split", tmp_path / "out").splitlines() == [
        "train: 4 images in 4 groups (2 lesion, 2 normal)",
        "test: 2 images in 2 groups (1 lesion, 1 normal)",
    ]
