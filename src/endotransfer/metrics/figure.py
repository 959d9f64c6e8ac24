"""A figure: one number of results.json, how it is computed, and where it is shown.

A module of this folder that calls `register(Figure(...))` adds a figure to results.json, tables, reports and viewer; no
other file names it.  A module elsewhere does the same, if it is imported before the evaluation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from endotransfer.metrics.image_parts import ImageKind, matrices_over
from endotransfer.metrics.percent import percent
from endotransfer.metrics.rates import Matrices, Rates, Statistic
from endotransfer.metrics.scored_images import ScoredImages
from endotransfer.registry import Registry

Scalar = float | int | str | None
FigureValue = Scalar | list[str] | dict[str, Scalar]
Compute = Callable[[ScoredImages], Scalar | Rates | list[str]]
Unit = Literal["%", "number", "count", "text"]
Prerequisite = Literal["", "lesions", "tag_head"]
ShownIn = Literal["main", "page", "details"]

FIGURES: Registry["Figure"] = Registry("figure", "endotransfer.figures")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Give either `statistic` or `compute`; both return a fraction where the unit is per cent, NaN for "undefined"."""

    name: str  # key in results.json; `section.key` lies in the object `section`
    label: str  # column heading
    title: str = ""  # in full, where there is room; empty: the label
    description: str = ""  # for legends: `label: description`
    statistic: Statistic | None = None  # of confusion matrices, [..., K, K] -> [...]; with `by_class` -> [..., K]
    images: ImageKind = "all"  # whose matrices `statistic` is given: those of images with a lesion, or without one
    compute: Compute | None = None  # of anything else that an evaluation keeps
    by_class: bool = False  # one value a class
    unit: Unit = "%"
    larger_is_better: bool = True
    needs: Prerequisite = ""  # without it the figure is null
    only_for: tuple[str, ...] | None = None  # exists only with exactly these classes
    shown: ShownIn = "details"  # main: every table; page: tables of runs and the report; details: results.json alone
    interval: bool = False  # bootstrapped; needs `statistic`
    leading: bool = False  # a mean over classes: first among intervals and comparisons
    in_paper: bool = False  # the paper's tables print it
    by_finding: bool = True  # also computed over the images of each finding
    order: int = 1000  # position in results.json; equal ones by name

    def __post_init__(self) -> None:
        if (self.statistic is None) == (self.compute is None):
            raise TypeError(f"figure '{self.name}' needs either `statistic` or `compute`.")
        if self.statistic is None and (self.interval or self.by_class or self.images != "all"):
            raise TypeError(f"figure '{self.name}': intervals, values by class and kinds of images need `statistic`.")
        if self.images != "all" and self.needs != "lesions":
            raise TypeError(f"figure '{self.name}': without lesions all images are of one kind; add needs=\"lesions\".")

    @property
    def section(self) -> str:
        """The object of results.json that it lies in; empty for the top."""
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def heading(self) -> str:
        return self.title or self.label

    @property
    def compared(self) -> bool:
        """Whether benchmarks report its mean, deviation and difference to the reference."""
        return self.statistic is not None and self.shown != "details"

    def exists(self, classes: Sequence[str]) -> bool:
        return self.only_for is None or self.only_for == tuple(classes)

    def available(self, scores: ScoredImages) -> bool:
        return {"": True, "lesions": scores.lesions, "tag_head": scores.tag_head}[self.needs]

    def of_parts(self, parts: Matrices) -> Rates:
        """`statistic` of matrices whose images are kept apart by kind: [..., P, K, K] -> [...] (by class: [..., K])."""
        assert self.statistic is not None
        return self.statistic(matrices_over(parts, self.images))

    def value(self, scores: ScoredImages) -> FigureValue:
        """As results.json has it: in its unit, None where it does not exist."""
        if not self.available(scores):
            return None
        if self.statistic is None:
            assert self.compute is not None
            found = self.compute(scores)
            return found if isinstance(found, list) else in_unit(found, self.unit)
        values = self.of_parts(scores.parts.sum(0))
        if not self.by_class:
            return in_unit(values, self.unit)
        return {name: in_unit(value, self.unit) for name, value in zip(scores.classes, values, strict=True)}


def register(*figures: Figure) -> None:
    for figure in figures:
        FIGURES.add(figure.name, figure)


def figures(classes: Sequence[str] | None = None, *, shown: Iterable[ShownIn] | None = None) -> list[Figure]:
    """Registered figures in the order of results.json: those that exist with `classes`, or with any list of them."""
    wanted = [figure for _, figure in FIGURES.items() if shown is None or figure.shown in set(shown)]
    known = [figure for figure in wanted if (figure.only_for is None if classes is None else figure.exists(classes))]
    return sorted(known, key=lambda figure: (figure.order, figure.name))


def leading_first(some: Iterable[Figure]) -> list[Figure]:
    """Means over classes before the rest."""
    return sorted(some, key=lambda figure: not figure.leading)


def legend(some: Iterable[Figure]) -> str:
    """`label: description; ...`, without an end."""
    return "; ".join(f"{figure.label}: {figure.description}" for figure in some if figure.description)


def in_unit(value: Scalar | Rates, unit: Unit) -> Scalar:
    """Fractions in per cent, counts whole, NaN as None."""
    if value is None or isinstance(value, str):
        return value
    if unit == "%":
        return percent(value)
    number = float(value)
    if np.isnan(number):
        return None
    return int(number) if unit == "count" else number
