"""Predicting files: what is written, what is coloured, and what is said of files that cannot be read."""

import csv
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.errors import DataError
from endotransfer.predict import files
from endotransfer.predict.files import list_images, overlay, predict_files
from endotransfer.predict.predictor import Prediction


class TopHalf:
    """Calls the upper half of every image a lesion."""

    classes = ("normal", "lesion")

    def predict(self, pixels: NDArray[np.uint8]) -> Prediction:
        height, width = pixels.shape[:2]
        mask = np.zeros((height, width), np.uint8)
        mask[: height // 2] = 1
        return Prediction(mask, np.full((2, height, width), 0.5, np.float32), 0.75)


@pytest.fixture(autouse=True)
def _top_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "load", lambda run: TopHalf())


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for name in ("a", "b"):
        Image.fromarray(np.full((8, 6, 3), 90, np.uint8)).save(folder / f"{name}.png")
    return folder


def rows_of(table: Path) -> list[dict[str, Any]]:
    with table.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_image_gets_a_mask_an_overlay_and_a_row(images: Path, tmp_path: Path) -> None:
    rows = rows_of(predict_files(tmp_path, [images], tmp_path / "out"))
    assert [row["name"] for row in rows] == ["a", "b"]
    assert float(rows[0]["share_lesion"]) == 0.5
    assert float(rows[0]["lesion_probability"]) == 0.75
    mask = np.asarray(Image.open(tmp_path / "out" / "masks" / "a.png"))
    assert mask[0].tolist() == [255] * 6 and mask[7].tolist() == [0] * 6
    assert np.asarray(Image.open(tmp_path / "out" / "overlays" / "b.png")).shape == (8, 6, 3)


def test_some_images_that_cannot_be_read_are_named(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "b.png").write_bytes(b"no image")
    assert len(rows_of(predict_files(tmp_path, [images], tmp_path / "out"))) == 1
    assert "b.png" in capsys.readouterr().out.replace("\n", "")


def test_it_is_an_error_when_none_can_be_read(images: Path, tmp_path: Path) -> None:
    for image in images.iterdir():
        image.write_bytes(b"no image")
    with pytest.raises(DataError, match=r"none of the 2 images could be predicted; the first reason: .*a\.png"):
        predict_files(tmp_path, [images], tmp_path / "out")
    assert rows_of(tmp_path / "out" / "predictions.csv") == []


def test_nothing_is_overwritten(images: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not empty"):
        predict_files(tmp_path, [images], images)


def test_images_are_found_in_folders_and_by_name(images: Path) -> None:
    (images / "folder.png").mkdir()
    (images / "deep").mkdir()
    (images / "deep" / "c.JPG").touch()
    (images / "notes.txt").touch()
    found = list_images([images, images / "a.png"])
    assert found == {
        "a": images / "a.png", "b": images / "b.png", "deep-c": images / "deep" / "c.JPG", "a_": images / "a.png",
    }  # fmt: skip


def test_of_a_native_folder_only_the_images_are_predicted(images: Path, tmp_path: Path) -> None:
    native = tmp_path / "native"
    (native / "masks").mkdir(parents=True)
    shutil.copytree(images, native / "images")
    shutil.copy(sorted(images.rglob("*.png"))[0], native / "masks" / "m.png")
    assert list_images([native]).keys() == list_images([images]).keys()


def test_a_place_without_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no image in"):
        list_images([tmp_path])
    with pytest.raises(DataError, match="there is no"):
        list_images([tmp_path / "none"])


@pytest.mark.parametrize("label", [1, 2, 5, 6, 12, 18, 254])
def test_every_lesion_class_is_seen_on_black(label: int) -> None:
    mask = np.zeros((9, 9), np.uint8)
    mask[2:7, 2:7] = label
    drawn = overlay(np.zeros((9, 9, 3), np.uint8), mask)
    assert drawn[4, 4].max() > 40
    assert (drawn[2, 2] > drawn[4, 4]).any()  # the outline
    assert drawn[0, 0].max() == 0


def test_neighbouring_classes_differ_in_colour() -> None:
    mask = np.arange(255, dtype=np.uint8)[None].repeat(3, 0)
    drawn = overlay(np.zeros((3, 255, 3), np.uint8), mask)[1]
    assert (drawn[1:] != drawn[:-1]).any(1).all()


def test_what_nobody_labelled_is_left_alone() -> None:
    pixels = np.full((4, 4, 3), 77, np.uint8)
    assert (overlay(pixels, np.full((4, 4), IGNORE, np.uint8)) == pixels).all()
