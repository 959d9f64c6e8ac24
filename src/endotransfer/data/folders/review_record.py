"""The record of one image's reviews, `reviewed/NAME.json`: every decision ever made, the newest last; none is removed.

Taking a decision back adds an entry that names the version to return to.  So the number of entries says how new a
record is, and whoever changes it must name the number that they know of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

Decision = Literal["accepted", "corrected", "rejected"]
DECISIONS: tuple[str, ...] = get_args(Decision)
TAKEN_BACK: Literal["taken back"] = "taken back"
CARRIED: Literal["carried"] = "carried"  # a mask from another frame of a video, until a person accepts it
CARRIED_LINE = "\0carried"  # what such masks follow on: no reader has this name
Reading = Literal["first", "second"]
FORMAT: Literal[2] = 2  # 1: a flat record beside NAME.png, one decision and no history


@dataclass(frozen=True)
class Review:
    """One decision.  `model`: whose prediction the mask started from; None: drawn from scratch."""

    decision: Decision
    who: str
    when: str  # ISO 8601, UTC, to the microsecond
    model: str | None
    version: str  # of endotransfer
    threshold: float | None = None  # of the mask that was accepted
    blind: bool = False  # whether it was drawn without sight of a model's mask
    reading: Reading = "first"  # a second reading stands beside the first and never replaces it
    adjudicated: bool = False  # whether it settles two readings
    carried_from: int | None = None  # the frame of the same video that the mask was drawn on
    source: str | None = None  # digest of the video


@dataclass(frozen=True)
class ReviewVersion:
    """An entry: a decision with its mask, one taken back in favour of the version `restores` (None: of nothing), or a
    mask that was carried from another frame, which counts as no decision.
    """

    number: int  # from 1
    decision: Decision | Literal["taken back", "carried"]
    who: str
    when: str
    version: str
    model: str | None = None
    threshold: float | None = None
    blind: bool = False
    reading: Reading = "first"
    adjudicated: bool = False
    carried_from: int | None = None
    source: str | None = None
    mask: str | None = None  # file name in `reviewed/versions/`
    restores: int | None = None

    @property
    def line(self) -> str:
        """What it follows on: the first reading, or one second reader's own ("" is no name)."""
        if self.decision == CARRIED:
            return CARRIED_LINE
        return "" if self.reading == "first" else self.who

    def review(self) -> Review:
        if self.decision == "taken back" or self.decision == "carried":
            raise ValueError("an entry that takes a decision back, or proposes a mask, is no decision.")
        return Review(
            self.decision, self.who, self.when, self.model, self.version, self.threshold, self.blind, self.reading,
            self.adjudicated, self.carried_from, self.source,
        )  # fmt: skip


@dataclass(frozen=True)
class ReviewRecord:
    """All entries of an image."""

    versions: list[ReviewVersion] = field(default_factory=list)
    format: Literal[2] = FORMAT

    @property
    def revision(self) -> int:
        return len(self.versions)

    def whole(self) -> bool:
        """Whether entries are numbered in order, restore decisions of before, and decisions name a mask."""
        if [version.number for version in self.versions] != list(range(1, self.revision + 1)):
            return False
        return all(self._fits(version) for version in self.versions)

    def _fits(self, version: ReviewVersion) -> bool:
        if version.decision != TAKEN_BACK:
            return bool(version.mask) and version.restores is None
        target = version.restores
        if target is None:
            return True
        return 0 < target < version.number and self.versions[target - 1].decision not in (TAKEN_BACK, CARRIED)


def in_force(versions: Sequence[ReviewVersion], line: str = "") -> ReviewVersion | None:
    """The decision that counts: of the first reading, or of the second reader called `line`."""
    last = next((version for version in reversed(versions) if version.line == line), None)
    if last is None or last.decision != TAKEN_BACK:
        return last
    return None if last.restores is None else versions[last.restores - 1]


def before(versions: Sequence[ReviewVersion], version: ReviewVersion) -> ReviewVersion | None:
    """The decision that counted until `version` was made."""
    return in_force(versions[: version.number - 1], version.line)


def second_readings(versions: Sequence[ReviewVersion]) -> list[ReviewVersion]:
    """What each second reader has decided, in the order in which they first did."""
    lines = dict.fromkeys(version.line for version in versions if version.line not in ("", CARRIED_LINE))
    return [found for line in lines if (found := in_force(versions, line)) is not None]


def proposal(versions: Sequence[ReviewVersion]) -> ReviewVersion | None:
    """The carried mask that waits for a person.

    A decision ends its waiting, and so does an entry that puts nothing else in force; taking that decision back makes
    it wait again.
    """
    waiting: ReviewVersion | None = None
    instead: dict[int | None, ReviewVersion | None] = {}  # what waited when a decision was made
    now: int | None = None
    for version in versions:
        if version.decision == CARRIED:
            waiting = version
        elif version.line == "" and version.decision == TAKEN_BACK:
            waiting = instead.get(now) if version.restores != now else None
            now = version.restores
        elif version.line == "":
            instead[version.number], waiting, now = waiting, None, version.number
    return waiting
