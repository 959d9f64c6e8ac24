"""Reviews under attack: processes that decide at the same moment, and writers that are killed in the middle.

Each decision's mask holds one value everywhere, that of its author, so that a mixture shows.  The writers that are
killed decide on an image, decide on frames of a video, carry masks to its frames and accept what was carried, in turn.
Run from the root of the repository: `python -m perf.review_kills --kills 200 --decisions 150` (about a minute).
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

from endotransfer.data.folders.frame_names import frame_name
from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_record import CARRIED, Review, ReviewRecord, proposal
from endotransfer.data.folders.reviewed import propose_review, read_version_mask, write_review
from endotransfer.errors import DataError

NAME, CLASSES, SIDE = "image", 9, 64
FRAMES = [frame_name("video.mp4", number) for number in range(6)]  # of a video; decided, carried to, accepted
NAMES = [NAME, *FRAMES]
_processes = multiprocessing.get_context("fork")  # a new one costs milliseconds, not an interpreter


class Stale(DataError):  # noqa: N818  (what happened, not what was wrong)
    """The record is newer than its writer knew."""


def decide(folder: Path, author: int, expected: int | None = None, name: str = NAME) -> None:
    """The author's decision with the author's mask; `expected`: the revision that the author knows of."""

    def check(record: ReviewRecord) -> None:
        if expected is not None and record.revision != expected:
            raise Stale("somebody was quicker; look again.")

    review = Review("corrected", f"author {author}", f"{time.time():.6f}", None, "0")
    write_review(folder, name, review, np.full((SIDE, SIDE), author, np.uint8), check)


def carry(folder: Path, author: int) -> None:
    """The author's mask, carried to every frame but the first; every other one is accepted by the same author."""
    for place, name in enumerate(FRAMES[1:]):
        propose_review(
            folder, name, np.full((SIDE, SIDE), author, np.uint8), carried_from=0, who=f"author {author}",
            when=f"{time.time():.6f}", version="0",
        )  # fmt: skip
        if place % 2:
            record = read_record(folder, name)
            waiting = proposal(record.versions)
            assert waiting is not None, "a carried mask is lost"
            mask = read_version_mask(folder, name, waiting, CLASSES)
            review = Review("accepted", waiting.who, f"{time.time():.6f}", None, "0", carried_from=0)
            write_review(folder, name, review, mask)


def mixtures(folder: Path, name: str = NAME) -> int:
    """How many decisions, or carried masks, have somebody else's mask, or one that is torn."""
    versions = read_record(folder, name).versions
    masks = [read_version_mask(folder, name, version, CLASSES) for version in versions]
    torn = sum(bool((mask != mask[0, 0]).any()) for mask in masks)
    return torn + sum(version.who != f"author {mask[0, 0]}" for version, mask in zip(versions, masks, strict=True))


def race(folder: Path, decisions: int, authors: int = 2, name: str = NAME) -> tuple[int, int]:
    """Authors in processes of their own, all on one image or frame at once.  (Told yes, decisions on record)."""
    yes = _processes.Value("i", 0)
    people = [
        _processes.Process(target=_insist, args=(folder, who + 1, decisions, yes, name)) for who in range(authors)
    ]
    for person in people:
        person.start()
    for person in people:
        person.join()
    return yes.value, read_record(folder, name).revision


def _insist(folder: Path, author: int, decisions: int, yes: "Synchronized[int]", name: str) -> None:
    for _ in range(decisions):
        try:
            decide(folder, author, read_record(folder, name).revision, name)
        except Stale:
            continue
        with yes.get_lock():
            yes.value += 1


def kill_writers(folder: Path, kills: int, seed: int = 0) -> int:
    """Kill a process that saves again and again, at some moment, so many times.  Returns the entries on record."""
    draw, known = random.Random(seed), dict.fromkeys(NAMES, 0)
    for _ in range(kills):
        begun = _processes.Event()
        writer = _processes.Process(target=_save_for_ever, args=(folder, begun))
        writer.start()
        begun.wait(20)
        time.sleep(draw.uniform(0, 0.06))  # a save takes a few milliseconds
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        for name in NAMES:
            assert mixtures(folder, name) == 0, f"{name}: a mask is torn, or somebody else's"
            assert read_record(folder, name).revision >= known[name], f"{name}: a decision is lost"
            known[name] = read_record(folder, name).revision
    return sum(known.values())


def _save_for_ever(folder: Path, begun: Event) -> None:
    author = os.getpid()
    while True:
        author = author % (CLASSES - 1) + 1
        decide(folder, author)
        decide(folder, author, name=FRAMES[0])
        begun.set()
        carry(folder, author)


def main(kills: int, decisions: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        yes, found = race(Path(place), decisions)
        mixed = mixtures(Path(place))
        print(f"two processes, {decisions} decisions each: {yes} told yes, {found} on record, {mixed} mixed")
        yes, found = race(Path(place), decisions, name=FRAMES[0])
        mixed = mixtures(Path(place), FRAMES[0])
        print(f"the same on a frame of a video: {yes} told yes, {found} on record, {mixed} mixed")
    with tempfile.TemporaryDirectory() as place:
        found = kill_writers(Path(place), kills)
        entries = [version for name in FRAMES for version in read_record(Path(place), name).versions]
        carried = sum(version.decision == CARRIED for version in entries)
        print(f"{kills} writers killed: {found} entries on record, none mixed, each whole")
        print(f"among them {len(entries) - carried} decisions on frames of a video and {carried} carried masks")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--decisions", type=int, default=150)
    asked = parser.parse_args()
    main(asked.kills, asked.decisions)
