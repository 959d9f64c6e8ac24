"""`reviewed/`: what is written can be read again, and what is damaged is named."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.data.folders.review_masks import mask_fits
from endotransfer.data.folders.review_record import Review
from endotransfer.data.folders.reviewed import read_review, read_reviewed_mask, write_review
from endotransfer.errors import DataError

REVIEW = Review("corrected", "Ada Lovelace, né(e) Byron", "2026-11-15T12:00:00.000001+00:00", None, "0.1.0")
MASK = np.array([[0, 1, 2], [IGNORE, 2, 0]], np.uint8)


def test_a_review_comes_back_as_it_was_written(tmp_path: Path) -> None:
    assert read_review(tmp_path, "a b.c") is None
    assert read_reviewed_mask(tmp_path, "a b.c", 3) is None
    write_review(tmp_path, "a b.c", REVIEW, MASK)
    assert sorted(path.name for path in (tmp_path / "reviewed").iterdir()) == [".lock", "a b.c.json", "versions"]
    assert read_review(tmp_path, "a b.c") == REVIEW
    mask = read_reviewed_mask(tmp_path, "a b.c", 3)
    assert mask is not None
    assert (mask == MASK).all()


def test_a_mask_that_is_lost_or_exchanged_is_named(tmp_path: Path) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    (mask,) = (tmp_path / "reviewed" / "versions").iterdir()
    Image.fromarray(MASK.T).save(mask)
    with pytest.raises(DataError, match="is not the mask that was saved; review the image again"):
        read_reviewed_mask(tmp_path, "a", 3)
    mask.unlink()
    with pytest.raises(DataError, match="is missing"):
        read_reviewed_mask(tmp_path, "a", 3)


@pytest.mark.parametrize("name", ["../a", "a/b", "", "..", "a\\b", "a\0"])
def test_a_name_with_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="contains a path"):
        write_review(tmp_path, name, REVIEW, MASK)


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", "[" * 100_000])
def test_a_damaged_note_is_named(tmp_path: Path, content: str) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    (tmp_path / "reviewed" / "a.json").write_text(content)
    with pytest.raises(DataError, match=r"a\.json.*review the image again"):
        read_review(tmp_path, "a")


@pytest.mark.parametrize(
    "change",
    [{"decision": "maybe"}, {"who": 3}, {"when": None}, {"number": 2}, {"mask": None}, {"restores": 1}, {"reading": 3}],
)
def test_an_entry_that_makes_no_sense_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    path = tmp_path / "reviewed" / "a.json"
    content = json.loads(path.read_text())
    content["versions"][0] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="is not a readable review"):
        read_review(tmp_path, "a")


def test_a_mask_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    Image.fromarray(MASK).save(tmp_path / "elsewhere.png")
    path = tmp_path / "reviewed" / "a.json"
    content = json.loads(path.read_text())
    content["versions"][0]["mask"] = "../../elsewhere.png"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="no mask of the name that a record gives"):
        read_reviewed_mask(tmp_path, "a", 3)


def test_a_mask_of_other_values_or_colours_is_named(tmp_path: Path) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    with pytest.raises(DataError, match="class numbers below 2"):
        read_reviewed_mask(tmp_path, "a", 2)
    write_review(tmp_path, "a", REVIEW, np.zeros((3, 2, 3), np.uint8))
    with pytest.raises(DataError, match="grey PNG"):
        read_reviewed_mask(tmp_path, "a", 3)


def test_only_classes_and_ignore_fit() -> None:
    assert mask_fits(MASK, 3)
    assert not mask_fits(MASK, 2)
    assert mask_fits(np.full((1, 1), IGNORE, np.uint8), 2)
    assert not mask_fits(np.full((1, 1), IGNORE - 1, np.uint8), 2)


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "reviewed").symlink_to(tmp_path / "outside")
    with pytest.raises(DataError, match="leaves the folder"):
        write_review(tmp_path / "folder", "a", REVIEW, MASK)
