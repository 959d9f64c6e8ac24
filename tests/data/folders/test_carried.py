"""Carried masks in the record: proposed, accepted, put aside, undone; never a decision by themselves."""

from pathlib import Path

import numpy as np
import pytest

from endotransfer.data.folders.frame_names import frame_name, parse_frame_name
from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_record import Review, in_force, proposal, second_readings
from endotransfer.data.folders.reviewed import (
    propose_review,
    read_review,
    restore_review,
    reviewed_mask_path,
    write_review,
)

NAME = "colon.mp4@000012"
MASK = np.ones((4, 4), np.uint8)


def propose(folder: Path) -> int:
    return propose_review(folder, NAME, MASK, carried_from=3, who="Ada", when="now", version="0").number


def accept(folder: Path) -> int:
    review = Review("accepted", "Bo", "now", None, "0", carried_from=3)
    return write_review(folder, NAME, review, MASK).number


def waits(folder: Path) -> int | None:
    found = proposal(read_record(folder, NAME).versions)
    return None if found is None else found.number


def restore(folder: Path, to: int | None) -> None:
    restore_review(folder, NAME, to, who="Bo", when="now", version="0")


def test_it_is_no_decision_and_nothing_is_trained_on(tmp_path: Path) -> None:
    propose(tmp_path)
    versions = read_record(tmp_path, NAME).versions
    assert in_force(versions) is None and second_readings(versions) == [] and waits(tmp_path) == 1
    assert read_review(tmp_path, NAME) is None and reviewed_mask_path(tmp_path, NAME) is None
    with pytest.raises(ValueError, match="no decision"):
        versions[0].review()


def test_a_decision_ends_its_waiting_and_undoing_it_begins_it_again(tmp_path: Path) -> None:
    propose(tmp_path)
    taken = accept(tmp_path)
    assert waits(tmp_path) is None
    restore(tmp_path, None)
    assert waits(tmp_path) == 1
    restore(tmp_path, taken)  # redone
    assert waits(tmp_path) is None and in_force(read_record(tmp_path, NAME).versions).carried_from == 3  # type: ignore[union-attr]


def test_it_is_put_aside_and_a_newer_one_waits(tmp_path: Path) -> None:
    propose(tmp_path)
    restore(tmp_path, None)
    assert waits(tmp_path) is None
    assert propose(tmp_path) == 3 and waits(tmp_path) == 3


def test_nobody_can_return_to_a_mask_that_was_never_decided(tmp_path: Path) -> None:
    propose(tmp_path)
    with pytest.raises(Exception, match="no decision of number 1"):
        restore(tmp_path, 1)


@pytest.mark.parametrize("video", ["a.mp4", "a@000001.mp4", "ü b.mov"])
def test_a_frame_has_a_name_and_back(video: str) -> None:
    assert parse_frame_name(frame_name(video, 123)) == (video, 123)
    assert parse_frame_name(frame_name(video, 12_345_678)) == (video, 12_345_678)


@pytest.mark.parametrize("name", ["a", "a.mp4", "a.mp4@12", "@000001", "a@00000x"])
def test_other_names_are_no_frames(name: str) -> None:
    assert parse_frame_name(name) is None
