"""Reviews under attack: processes that decide at the same moment, and writers that are killed in the middle.

Each decision's mask holds one value everywhere, that of its author, so that a mixture shows.  Run from the root of the
repository: `python -m perf.review_kills --kills 200 --decisions 150` (about a minute).
"""

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np

from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_record import Review, ReviewRecord
from endotransfer.data.folders.reviewed import read_version_mask, write_review
from endotransfer.errors import DataError

NAME, CLASSES, SIDE = "image", 9, 64
_processes = multiprocessing.get_context("fork")  # a new one costs milliseconds, not an interpreter


class Stale(DataError):  # noqa: N818  (what happened, not what was wrong)
    """The record is newer than its writer knew."""


def decide(folder: Path, author: int, expected: int | None = None) -> None:
    """The author's decision with the author's mask; `expected`: the revision that the author knows of."""

    def check(record: ReviewRecord) -> None:
        if expected is not None and record.revision != expected:
            raise Stale("somebody was quicker; look again.")

    review = Review("corrected", f"author {author}", f"{time.time():.6f}", None, "0")
    write_review(folder, NAME, review, np.full((SIDE, SIDE), author, np.uint8), check)


def mixtures(folder: Path) -> int:
    """How many decisions carry somebody else's mask."""
    versions = read_record(folder, NAME).versions
    masks = [read_version_mask(folder, NAME, version, CLASSES) for version in versions]
    return sum(version.who != f"author {mask[0, 0]}" for version, mask in zip(versions, masks, strict=True))


def race(folder: Path, decisions: int, authors: int = 2) -> tuple[int, int]:
    """Authors in processes of their own, all on one image at once.  (Told yes, decisions on record)."""
    yes = _processes.Value("i", 0)
    people = [_processes.Process(target=_insist, args=(folder, who + 1, decisions, yes)) for who in range(authors)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    return yes.value, read_record(folder, NAME).revision


def _insist(folder: Path, author: int, decisions: int, yes: "Synchronized[int]") -> None:
    for _ in range(decisions):
        try:
            decide(folder, author, read_record(folder, NAME).revision)
        except Stale:
            continue
        with yes.get_lock():
            yes.value += 1


def kill_writers(folder: Path, kills: int, seed: int = 0) -> int:
    """Kill a process that saves again and again, at some moment, so many times.  Returns the decisions on record."""
    draw, known = random.Random(seed), 0
    for _ in range(kills):
        begun = _processes.Event()
        writer = _processes.Process(target=_save_for_ever, args=(folder, begun))
        writer.start()
        begun.wait(20)
        time.sleep(draw.uniform(0, 0.02))  # a save takes a few milliseconds
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        assert mixtures(folder) == 0, "a decision carries somebody else's mask"
        assert read_record(folder, NAME).revision >= known, "a decision is lost"
        known = read_record(folder, NAME).revision
    return known


def _save_for_ever(folder: Path, begun: Event) -> None:
    author = os.getpid()
    while True:
        author = author % (CLASSES - 1) + 1
        decide(folder, author)
        begun.set()


def main(kills: int, decisions: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        yes, found = race(Path(place), decisions)
        mixed = mixtures(Path(place))
        print(f"two processes, {decisions} decisions each: {yes} told yes, {found} on record, {mixed} mixed")
    with tempfile.TemporaryDirectory() as place:
        found = kill_writers(Path(place), kills)
        print(f"{kills} writers killed: {found} decisions on record, none mixed, each whole")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--decisions", type=int, default=150)
    asked = parser.parse_args()
    main(asked.kills, asked.decisions)
