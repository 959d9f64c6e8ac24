"""The figures of a sweep over its grid, as results.json has them."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field, JsonValue

from endotransfer.metrics.figure import Figure, figures, leading_first
from endotransfer.metrics.flat_model import FlatModel
from endotransfer.results import Results

Grid = dict[str, list[JsonValue]]
Point = dict[str, JsonValue]
Measured = tuple[Point | None, Results]  # the point of a grid, and what was measured there


class SweepMatrix(FlatModel):
    """Means over seeds by figure, nested in the order of `keys`; None where no cell is finished."""

    INNER: ClassVar[str] = "means"

    keys: list[str]
    values: Grid
    means: dict[str, JsonValue] = Field(default_factory=dict)


def swept_figures() -> list[Figure]:
    return [figure for figure in leading_first(figures()) if figure.compared and not figure.by_class]


def matrix_of(grid: Grid, cells: Sequence[Measured]) -> SweepMatrix:
    def nested(name: str, fixed: Point, keys: list[str]) -> JsonValue:
        if not keys:
            values = [results.figure(name) for point, results in cells if point == fixed]
            known = [value for value in values if value is not None]
            return sum(known) / len(known) if known else None
        return [nested(name, {**fixed, keys[0]: value}, keys[1:]) for value in grid[keys[0]]]

    means = {figure.name: nested(figure.name, {}, list(grid)) for figure in swept_figures()}
    return SweepMatrix(keys=list(grid), values=grid, means=means)
