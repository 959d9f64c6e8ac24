"""Every decision stays: what is in force, taken back, restored; a second reader beside the first; older folders."""

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.folders.drawn_sample import Plan, read_plan, write_plan
from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_record import Decision, Reading, Review, in_force, second_readings
from endotransfer.data.folders.reviewed import (
    former_review,
    read_review,
    read_reviewed_mask,
    read_version_mask,
    restore_review,
    write_review,
)
from endotransfer.data.folders.reviewed_targets import reviewed_samples
from endotransfer.errors import DataError
from endotransfer.samples import Sample

FLAT = {"decision": "corrected", "who": "Ada", "when": "2026-11-15T12:00:00+00:00", "model": None, "version": "0.1"}


def mask(value: int) -> np.ndarray:
    return np.full((2, 3), value, np.uint8)


def decide(
    folder: Path, who: str, value: int, decision: Decision = "corrected", reading: Reading = "first", name: str = "a"
) -> int:
    review = Review(decision, who, "2026-11-18T12:00:00+00:00", None, "0", reading=reading)
    return write_review(folder, name, review, mask(value)).number


def take_back(folder: Path, to: int | None) -> None:
    restore_review(folder, "a", to, who="Ada", when="now", version="0")


def value_of(folder: Path, name: str = "a") -> int | None:
    found = read_reviewed_mask(folder, name, 9)
    return None if found is None else int(found[0, 0])


def test_taking_back_returns_to_the_decision_before_and_forward_again(tmp_path: Path) -> None:
    decide(tmp_path, "Ada", 1)
    decide(tmp_path, "Grace", 2, "accepted")
    for expected, to in ((1, 1), (None, None), (2, 2), (1, 1)):
        record = read_record(tmp_path, "a")
        if expected != 2:
            assert former_review(record) == to
        take_back(tmp_path, to)
        assert value_of(tmp_path) == expected
    assert decide(tmp_path, "Ada", 3) == 7
    assert former_review(read_record(tmp_path, "a")) == 1  # what was in force when it was made
    assert value_of(tmp_path) == 3
    versions = read_record(tmp_path, "a").versions
    masks = [read_version_mask(tmp_path, "a", one, 9)[0, 0] for one in versions if one.mask]
    assert masks == [1, 2, 3]  # none of them is lost


@pytest.mark.parametrize("to", [0, 2, 3, -1])
def test_only_a_decision_can_be_returned_to(tmp_path: Path, to: int) -> None:
    decide(tmp_path, "Ada", 1)
    take_back(tmp_path, None)
    with pytest.raises(DataError, match="no decision of number"):
        take_back(tmp_path, to)


def test_a_second_reading_stands_beside_the_first(tmp_path: Path) -> None:
    decide(tmp_path, "Ada", 1)
    for who, value in (("Grace", 2), ("Grace", 3), ("Emmy", 4)):
        decide(tmp_path, who, value, reading="second")
    assert value_of(tmp_path) == 1
    versions = read_record(tmp_path, "a").versions
    assert [(one.who, one.number) for one in second_readings(versions)] == [("Grace", 3), ("Emmy", 4)]
    restore_review(tmp_path, "a", 2, who="Grace", when="now", version="0", line="Grace")
    found = in_force(read_record(tmp_path, "a").versions, "Grace")
    assert found is not None
    assert found.number == 2
    assert value_of(tmp_path) == 1


def flat_review(folder: Path, name: str = "a", value: int = 5) -> None:
    (folder / "reviewed").mkdir(exist_ok=True)
    (folder / "reviewed" / f"{name}.json").write_text(json.dumps(FLAT))
    Image.fromarray(mask(value)).save(folder / "reviewed" / f"{name}.png")


def test_a_folder_of_before_is_read_and_upgraded_without_loss(tmp_path: Path) -> None:
    flat_review(tmp_path)
    before = (tmp_path / "reviewed" / "a.png").read_bytes()
    assert value_of(tmp_path) == 5
    assert read_record(tmp_path, "a").revision == 1
    assert decide(tmp_path, "Grace", 6) == 2
    assert value_of(tmp_path) == 6
    first = read_record(tmp_path, "a").versions[0]
    assert (first.who, first.when) == ("Ada", FLAT["when"])
    assert (tmp_path / "reviewed" / "versions" / str(first.mask)).read_bytes() == before
    assert not (tmp_path / "reviewed" / "a.png").exists()
    take_back(tmp_path, 1)
    assert value_of(tmp_path) == 5


@pytest.mark.parametrize("ending", ["json", "png"])
def test_half_a_review_of_before_is_none_and_is_kept(tmp_path: Path, ending: str) -> None:
    flat_review(tmp_path)
    (tmp_path / "reviewed" / f"a.{ending}").unlink()
    (left,) = (path.read_bytes() for path in (tmp_path / "reviewed").iterdir())
    assert read_review(tmp_path, "a") is None
    decide(tmp_path, "Grace", 6)
    assert left in [path.read_bytes() for path in (tmp_path / "reviewed").rglob("*") if path.is_file()]


def test_a_damaged_record_is_set_aside_when_another_is_written(tmp_path: Path) -> None:
    decide(tmp_path, "Ada", 1)
    (tmp_path / "reviewed" / "a.json").write_text("{ damaged")
    assert decide(tmp_path, "Grace", 2) == 1
    (aside,) = (tmp_path / "reviewed").glob("a.json.damaged-*")
    assert aside.read_text() == "{ damaged"
    assert len([*(tmp_path / "reviewed" / "versions").iterdir()]) == 2


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("image", ["NFC", "NFD"])
@pytest.mark.parametrize("flat", [False, True])
def test_training_finds_the_review_of_an_accented_name(tmp_path: Path, on_disk: str, image: str, flat: bool) -> None:
    name = "Läsion é"
    written = unicodedata.normalize(on_disk, name)  # type: ignore[arg-type]
    flat_review(tmp_path, written)
    if not flat:
        decide(tmp_path, "Ada", 1, name=written)
    file = tmp_path / "images" / f"{unicodedata.normalize(image, name)}.png"  # type: ignore[arg-type]
    sample = Sample("capsule/x", file)
    (found,) = reviewed_samples([sample])
    assert found.mask is not None
    assert np.asarray(Image.open(found.mask))[0, 0] == (5 if flat else 1)
    write_plan(tmp_path, Plan([written], "all", 0, "now"))
    assert reviewed_samples([sample]) == []


def test_training_takes_what_is_in_force(tmp_path: Path) -> None:
    sample = Sample("capsule/a", tmp_path / "images" / "a.png")
    decide(tmp_path, "Ada", 1)
    decide(tmp_path, "Grace", 2, reading="second")
    decide(tmp_path, "Emmy", 255, "rejected")
    assert reviewed_samples([sample]) == []
    take_back(tmp_path, 1)
    (found,) = reviewed_samples([sample])
    assert found.mask is not None
    assert np.asarray(Image.open(found.mask))[0, 0] == 1


@pytest.mark.parametrize(
    "text", ["", "[1]", "\timages: 3", "images: 3\n", "images: [1]\ndrawn_from: all\nseed: 0\nwhen: x\n", "{"]
)
def test_a_sample_that_cannot_be_read_is_refused_not_forgotten(tmp_path: Path, text: str) -> None:
    decide(tmp_path, "Ada", 1)
    (tmp_path / "reviewed" / "sample.yaml").write_text(text)
    refused = pytest.raises(DataError, match=r"sample\.yaml: cannot be read as a random sample; restore it")
    with refused:
        read_plan(tmp_path)
    with pytest.raises(DataError, match="restore it"):
        reviewed_samples([Sample("capsule/a", tmp_path / "images" / "a.png")])
    with pytest.raises(DataError, match="restore it"):
        write_plan(tmp_path, Plan(["a"], "all", 0, "now"))
    assert (tmp_path / "reviewed" / "sample.yaml").read_text() == text
