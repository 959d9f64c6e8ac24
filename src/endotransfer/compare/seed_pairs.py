"""Runs over seeds, alone or paired with those of another row: means, differences, and what their intervals rest on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from endotransfer.compare.decision import FEWEST_SEEDS, ONE_SEED
from endotransfer.compare.drawn_figures import DrawnFigures
from endotransfer.compare.image_counts import LEVEL, check_same_images
from endotransfer.compare.label_summary import FigureDifference, IntervalBasis
from endotransfer.errors import DataError
from endotransfer.metrics.group_kinds import describe_groups
from endotransfer.metrics.percent import percent, percents
from endotransfer.metrics.rates import Rates
from endotransfer.metrics.seed_interval import seed_interval, student_interval
from endotransfer.metrics.summary import Ends

NO_IMAGES = "the per-image scores of some cells are missing"
NO_SEED = "there is no seed in common"


@dataclass(frozen=True)
class SeedRun:
    """One run: its figures in per cent, and drawn over its test images where the scores of these are known."""

    seed: int
    figures: dict[str, float | None]
    drawn: DrawnFigures | None = None


@dataclass(frozen=True)
class MeasuredRow:
    """The runs of one row."""

    label: str
    runs: Sequence[SeedRun]
    ranked: bool = True  # False: an upper bound

    def mean(self, name: str) -> float | None:
        known = [value for run in self.runs if (value := run.figures.get(name)) is not None]
        return float(np.mean(known)) if known else None


@dataclass(frozen=True)
class SeedPairs:
    """`members`: for each seed one run, or two whose difference (first less second) is looked at; `what` names them."""

    members: Sequence[tuple[SeedRun, ...]]
    what: str

    @classmethod
    def of_row(cls, row: MeasuredRow) -> "SeedPairs":
        return cls([(run,) for run in row.runs], f"the runs of {row.label}")

    @classmethod
    def of_rows(cls, row: MeasuredRow, other: MeasuredRow) -> "SeedPairs":
        theirs = {run.seed: run for run in other.runs}
        pairs = [(run, theirs[run.seed]) for run in row.runs if run.seed in theirs]
        return cls(pairs, f"{row.label} and {other.label}")

    @cached_property
    def basis(self) -> IntervalBasis:
        """Seeds and images; where these are not known, or are one group, seeds alone."""
        about = {"seeds": [runs[0].seed for runs in self.members], "level": 100 * LEVEL}
        few = len(self.members) < FEWEST_SEEDS
        why = self._unusable
        if not why:
            first = _drawn(self._runs[0])
            kinds, groups = first.counts.group_kinds, len(set(first.counts.groups))
            resamples = max(map(len, first.draws.values()), default=0)
            about |= {"resamples": resamples, "groups": groups, "group_kinds": kinds}
            why = f"the test images are one group ({describe_groups(kinds)})" if groups < 2 else ""
        if not self.members:
            found = {"over": None, "note": why}
        elif why:
            note = f"{why}, and one seed gives no interval" if few else f"{why}; intervals are over seeds"
            found = {"over": None, "note": note} if few else {"over": "seeds", "note": note}
        else:
            found = {"over": "images", "note": ONE_SEED} if few else {"over": "seeds and images"}
        return IntervalBasis.model_validate(about | found)

    def estimate(self, name: str) -> FigureDifference:
        """Mean over seeds and interval, per cent; of a figure that a run does not have both are None."""
        values = [self._value(runs, name) for runs in self.members]
        if not values or np.isnan(values).any():
            return FigureDifference(mean=None, interval=None)
        return FigureDifference(mean=percent(np.mean(values)), interval=self._interval(name, values))

    def estimates(self, names: Iterable[str]) -> dict[str, FigureDifference]:
        return {name: self.estimate(name) for name in names}

    def _interval(self, name: str, values: Sequence[float]) -> Ends | None:
        if self.basis.over is None:
            return None
        if self.basis.over == "seeds":
            ends = percents(student_interval(values, LEVEL))
        else:
            ends = percents(seed_interval(values, [self._draws(runs, name) for runs in self.members], LEVEL))
        if ends is None:
            return None
        # A share is 0 to 100, a difference of two -100 to 100; Student's distribution does not know that.
        least = -100.0 if len(self.members[0]) > 1 else min(0.0, 100 * min(values))
        return max(ends[0], least), min(ends[1], 100.0)

    def _value(self, runs: Sequence[SeedRun], name: str) -> float:
        if self._unusable:
            return float(_less(np.array([_fraction(run.figures.get(name)) for run in runs])))
        return float(_less(np.array([_drawn(run).values.get(name, np.nan) for run in runs])))

    @staticmethod
    def _draws(runs: Sequence[SeedRun], name: str) -> Rates:
        return _less(np.stack([_drawn(run).draws[name] for run in runs]))

    @property
    def _runs(self) -> list[SeedRun]:
        return [run for runs in self.members for run in runs]

    @cached_property
    def _unusable(self) -> str:
        """Why the scores of single images cannot be used; empty where they can."""
        if not self.members:
            return NO_SEED
        if any(run.drawn is None for run in self._runs):
            return NO_IMAGES
        first = _drawn(self._runs[0]).counts
        try:
            for run in self._runs[1:]:
                check_same_images(first, _drawn(run).counts, lambda: self.what)
        except DataError as reason:
            return str(reason).rstrip(".")
        return ""


def _less(values: Rates) -> Rates:
    """The first, or the first less the second."""
    difference: Rates = values[0] if len(values) == 1 else values[0] - values[1]
    return difference


def _fraction(value: float | None) -> float:
    return np.nan if value is None else value / 100


def _drawn(run: SeedRun) -> DrawnFigures:
    assert run.drawn is not None
    return run.drawn
