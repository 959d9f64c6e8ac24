"""Two runs on the same test images: is one better, by how much, and on how many images?"""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from endotransfer.compare.image_counts import (
    LEVEL,
    check_same_images,
    counts_of_run,
    paired_differences,
    statistics,
)
from endotransfer.errors import ConfigError
from endotransfer.metrics.percent import percent, percents
from endotransfer.registry import nearest

TIE = 1e-9  # per-image figures closer than this are the same


@dataclass(frozen=True)
class Comparison:
    """Per cent; None where a value does not exist."""

    metric: str
    runs: list[str]
    values: list[float | None]  # of both
    difference: float | None  # first less second
    interval: list[float] | None
    level: float
    resamples: int
    groups: int  # what was drawn
    images: int
    compared_images: int  # in which the metric exists for both
    better: float | None  # shares of these
    worse: float | None
    same: float | None

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def compare_runs(first: Path, second: Path, metric: str = "miou", resamples: int = 1000) -> Comparison:
    """`metric` of both runs, first minus second with its 95 % interval, and the shares of images better and worse.

    Images in which the metric does not exist for either (no lesion in truth and prediction) are left out of the shares.
    """
    a, b = counts_of_run(first), counts_of_run(second)
    check_same_images(a, b, lambda: f"{first} and {second}")
    known = statistics(a)
    if metric not in known:
        raise ConfigError(f"there is no metric '{metric}'; {nearest(metric, list(known))}")
    statistic = known[metric]
    difference, *interval = paired_differences([(a, b)], {metric: statistic}, resamples)[metric]
    change = statistic(a.matrices) - statistic(b.matrices)
    change = change[~np.isnan(change)]
    return Comparison(
        metric=metric,
        runs=[str(first), str(second)],
        values=[percent(statistic(counts.matrices.sum(0))) for counts in (a, b)],
        difference=percent(difference),
        interval=percents(interval),
        level=100 * LEVEL,
        resamples=resamples,
        groups=len(set(a.groups)),
        images=len(a.keys),
        compared_images=len(change),
        better=percent((change > TIE).mean()) if change.size else None,
        worse=percent((change < -TIE).mean()) if change.size else None,
        same=percent((np.abs(change) <= TIE).mean()) if change.size else None,
    )


def print_comparison(found: Comparison, console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("run", overflow="fold")
    table.add_column(found.metric, justify="right", no_wrap=True)
    for run, value in zip(found.runs, found.values, strict=True):
        table.add_row(escape(run), _number(value))
    ends = found.interval
    interval = f" ({_signed(ends[0])} to {_signed(ends[1])})" if ends else " (no interval: fewer than two groups)"
    table.add_row("first - second, 95 %", _signed(found.difference) + interval)
    console.print(table)
    parts = {"better": found.better, "worse": found.worse, "same": found.same}
    shares = ", ".join(f"{_number(share)} % {name}" for name, share in parts.items())
    line = f"Of {found.compared_images} of {found.images} images the first is on {shares}."
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
