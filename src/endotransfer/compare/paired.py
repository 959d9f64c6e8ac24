"""Two systems on the same test images, a run each or several: is one better, by how much, and on how many images?"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from endotransfer.compare.compared_figures import ComparedFigure, compared_figures
from endotransfer.compare.decision import conclusion, told_apart
from endotransfer.compare.image_counts import LEVEL
from endotransfer.compare.opened_run import OpenedRun, RunPair, open_run, pair_by_seed
from endotransfer.compare.seed_pairs import SeedPairs
from endotransfer.compare.task_settings import Flat, differing, method_settings, task_settings
from endotransfer.config import Experiment
from endotransfer.errors import ConfigError
from endotransfer.metrics.group_kinds import GroupKinds
from endotransfer.metrics.percent import percent
from endotransfer.metrics.rates import mean_of_known
from endotransfer.registry import nearest

TIE = 1e-9  # per-image figures closer than this are the same
SIDES = ("the first", "the second")
Differing = dict[str, list[list[JsonValue]]]  # setting -> values of the first side, values of the second


@dataclass(frozen=True)
class ImageShares:
    """Of the images in which the metric exists for both; per cent."""

    compared_images: int
    better: float | None
    worse: float | None
    same: float | None


@dataclass(frozen=True)
class Comparison:
    """Per cent; None where a value does not exist."""

    metric: str
    runs: list[list[str]]  # of both sides
    seeds: list[int]  # that are paired
    values: list[float | None]  # of both, means over seeds
    difference: float | None  # first less second
    interval: list[float] | None
    over: str | None  # what the interval is over: seeds and images; images
    level: float
    resamples: int
    groups: int  # of test images, which were drawn
    group_kinds: GroupKinds
    images: int
    shares: ImageShares
    told_apart: bool
    conclusion: str  # a sentence
    settings: Differing  # of data, model, training and evaluation, where the sides differ
    method_settings: Differing
    notes: list[str]

    def to_dict(self) -> dict[str, object]:
        own = {name: value for name, value in asdict(self).items() if name != "shares"}
        return {**own, **asdict(self.shares)}


def compare_runs(
    first: Sequence[Path], second: Sequence[Path], metric: str = "miou", resamples: int = 1000
) -> Comparison:
    """`metric` of both sides, first minus second with its 95 % interval, and the shares of images better and worse.

    Several runs of a side are seeds of one system; runs of equal seeds are paired.  Images in which the metric does not
    exist for either (no lesion in truth and prediction) are left out of the shares.
    """
    sides = [[open_run(path, resamples) for path in side] for side in (first, second)]
    pairs = pair_by_seed(*sides)
    counts = pairs[0][0].counts
    known = compared_figures(counts.classes, counts.lesions)
    if metric not in known:
        raise ConfigError(f"there is no metric '{metric}'; {nearest(metric, list(known))}")
    of_seeds = SeedPairs([(one.measured, other.measured) for one, other in pairs], "the runs")
    found, basis, sign = of_seeds.estimate(metric), of_seeds.basis, known[metric].sign
    experiments = [[run.experiment() for run in side] for side in sides]
    return Comparison(
        metric=metric,
        runs=[[str(run.path) for run in side] for side in sides],
        seeds=basis.seeds,
        values=[percent(np.mean([pair[side].drawn.values[metric] for pair in pairs])) for side in (0, 1)],
        difference=found.mean,
        interval=None if found.interval is None else list(found.interval),
        over=basis.over,
        level=100 * LEVEL,
        resamples=resamples,
        groups=basis.groups or 0,
        group_kinds=basis.group_kinds,
        images=len(counts.keys),
        shares=image_shares(pairs, known[metric]),
        told_apart=told_apart(found.interval, basis),
        conclusion=conclusion(SIDES, None if found.mean is None else sign * found.mean, found.interval, basis),
        settings=_differing(experiments, task_settings),
        method_settings=_differing(experiments, method_settings),
        notes=[*_notes(sides, pairs), *_unknown(sides, experiments)],
    )


def image_shares(pairs: Sequence[RunPair], figure: ComparedFigure) -> ImageShares:
    """On how many images the first side is better, by the mean over seeds of the figure of each image."""
    changes = np.stack([figure(one.parts) - figure(other.parts) for one, other in pairs], axis=-1)  # [N, S]
    change = figure.sign * mean_of_known(changes)
    known = change[~np.isnan(change)]
    if not known.size:
        return ImageShares(0, None, None, None)
    better, worse = (known > TIE).mean(), (known < -TIE).mean()
    return ImageShares(len(known), percent(better), percent(worse), percent(1 - better - worse))


def _differing(experiments: Sequence[Sequence[Experiment | None]], flat: Callable[[Experiment], Flat]) -> Differing:
    """Where both sides are known; a method that is not installed here has no settings to look at."""
    try:
        sides = [[flat(experiment) for experiment in side if experiment is not None] for side in experiments]
    except ConfigError:
        return {}
    return differing(sides[0], sides[1]) if all(sides) else {}


def _notes(sides: Sequence[Sequence[OpenedRun]], pairs: Sequence[RunPair]) -> list[str]:
    """What is odd about the runs themselves."""
    notes = [f"{run.path}: {run.collapsed}." for side in sides for run in side if run.collapsed]
    paired = {run.path for pair in pairs for run in pair}
    notes += [f"{run.path} is left out: seed {run.seed} is only on its side." for side in sides for run in side
              if run.path not in paired]  # fmt: skip
    if any(one.seed != other.seed for one, other in pairs):
        notes.append(f"The seeds differ: {pairs[0][0].seed} and {pairs[0][1].seed}.")
    versions = list(dict.fromkeys(run.results.version for side in sides for run in side))
    if len(versions) > 1:
        notes.append(f"Measured by different versions: {', '.join(version or 'unknown' for version in versions)}.")
    return notes


def _unknown(sides: Sequence[Sequence[OpenedRun]], experiments: Sequence[Sequence[Experiment | None]]) -> list[str]:
    runs = [run.path for side, some in zip(sides, experiments, strict=True)
            for run, experiment in zip(side, some, strict=True) if experiment is None]  # fmt: skip
    return [
        f"The settings of {path} are not known (no readable config.yaml), so they are not compared." for path in runs
    ]
