"""`reviewed/`: what is written can be read again, and half a review is none."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.data.folders.reviewed import (
    Review,
    mask_fits,
    read_review,
    read_reviewed_mask,
    remove_review,
    write_review,
)
from endotransfer.errors import DataError

REVIEW = Review("corrected", "Ada Lovelace, né(e) Byron", "2026-11-15T12:00:00.000001+00:00", None, "0.1.0")
MASK = np.array([[0, 1, 2], [IGNORE, 2, 0]], np.uint8)


def test_a_review_comes_back_as_it_was_written(tmp_path: Path) -> None:
    assert read_review(tmp_path, "a b.c") is None
    assert read_reviewed_mask(tmp_path, "a b.c", 3) is None
    write_review(tmp_path, "a b.c", REVIEW, MASK)
    assert sorted(path.name for path in (tmp_path / "reviewed").iterdir()) == ["a b.c.json", "a b.c.png"]
    assert read_review(tmp_path, "a b.c") == REVIEW
    mask = read_reviewed_mask(tmp_path, "a b.c", 3)
    assert mask is not None
    assert (mask == MASK).all()
    remove_review(tmp_path, "a b.c")
    assert read_review(tmp_path, "a b.c") is None


@pytest.mark.parametrize("ending", ["json", "png"])
def test_half_a_review_is_none(tmp_path: Path, ending: str) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    (tmp_path / "reviewed" / f"a.{ending}").unlink()
    assert read_review(tmp_path, "a") is None
    assert read_reviewed_mask(tmp_path, "a", 3) is None


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


@pytest.mark.parametrize("change", [{"decision": "maybe"}, {"who": 3}, {"when": None}])
def test_an_unknown_decision_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    path = tmp_path / "reviewed" / "a.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match="no known decision"):
        read_review(tmp_path, "a")


def test_a_mask_of_other_values_or_colours_is_named(tmp_path: Path) -> None:
    write_review(tmp_path, "a", REVIEW, MASK)
    with pytest.raises(DataError, match="class numbers below 2"):
        read_reviewed_mask(tmp_path, "a", 2)
    Image.new("RGB", (3, 2)).save(tmp_path / "reviewed" / "a.png")
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
