"""The paper's sensitivity figure: mIoU over a grid of two settings, from the cells of a sweep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.report.csv_file import write_csv
from endotransfer.report.drawing import PageFigure, Theme, draw_figure, panels
from endotransfer.report.page import Section, fill
from endotransfer.report.study import Study

MAP = "cividis"  # the same for every kind of colour vision, and its lightness rises with the value
INTRODUCTION = (
    "mIoU in per cent on the test images, by the two settings that were varied (mean over seeds). The frame is "
    "the best cell. A setting that hardly matters gives a field of one colour: read the scale before the colours."
)
Setting = int | float | str | None  # a value that a sweep gave to a setting


@dataclass(frozen=True)
class Grid:
    """Mean mIoU [rows, columns] over two settings; NaN where no cell was measured."""

    keys: tuple[str, str]
    rows: list[Setting]
    columns: list[Setting]
    scores: dict[tuple[Setting, Setting], list[float]]

    @property
    def means(self) -> NDArray[np.float64]:
        return np.array([[_mean(self.scores.get((r, c), [])) for c in self.columns] for r in self.rows])


def heatmap_section(study: Study, folder: Path) -> Section:
    grids, odd = read_grids(study.cells)
    names = ["sensitivity"] if len(grids) == 1 else [f"sensitivity-{number}" for number in range(1, len(grids) + 1)]
    figures = [_figure(grid, folder, name) for grid, name in zip(grids, names, strict=True)]
    notes = [f"The sweep over {', '.join(keys)} has {len(keys)} settings; a heat map shows two." for keys in odd]
    body = fill("sensitivity.html", introduction=INTRODUCTION, figures=figures, notes=notes)
    return Section("sensitivity", "Sensitivity", body)


def read_grids(cells: Sequence[BenchmarkCell]) -> tuple[list[Grid], list[tuple[str, ...]]]:
    """The grids of two settings, and the names of settings that are not two."""
    groups: dict[tuple[str, ...], list[BenchmarkCell]] = {}
    for cell in cells:
        if cell.grid:
            groups.setdefault(tuple(cell.grid), []).append(cell)
    pairs = {keys: some for keys, some in groups.items() if len(keys) == 2}
    return [_grid(keys, some) for keys, some in pairs.items()], [keys for keys in groups if len(keys) != 2]


def _grid(keys: tuple[str, ...], cells: list[BenchmarkCell]) -> Grid:
    first, second = keys
    scores: dict[tuple[Setting, Setting], list[float]] = {}
    for cell in cells:
        point, miou = cell.grid or {}, cell.figure("miou")
        place = (_plain(point[first]), _plain(point[second]))
        scores.setdefault(place, []).extend([] if miou is None else [miou])
    return Grid((first, second), _ordered(r for r, _ in scores), _ordered(c for _, c in scores), scores)


def _figure(grid: Grid, folder: Path, name: str) -> PageFigure:
    rows = [
        [row, column, _mean(some) if some else None, stdev(some) if len(some) > 1 else None, len(some)]
        for (row, column), some in sorted(grid.scores.items(), key=lambda item: _place(grid, item[0]))
    ]
    write_csv(folder / f"{name}.csv", (*grid.keys, "miou", "deviation", "seeds"), rows)

    def draw(theme: Theme, columns: int) -> Figure:
        size = (1.9 + 0.75 * len(grid.columns), 0.75 + 0.5 * len(grid.rows))
        figure, (axes,) = panels(theme, 1, columns, size=size, margins=(0.8, 0.1, 0.12, 0.5))
        _draw(axes, figure, theme, grid)
        return figure

    alt = f"Heat map of mIoU over {grid.keys[0]} and {grid.keys[1]}"
    caption = f"mIoU by {grid.keys[0]} and {grid.keys[1]}."
    return draw_figure(draw, folder / f"{name}.png", alt=alt, caption=caption, narrow=False)


def _draw(axes: Axes, figure: Figure, theme: Theme, grid: Grid) -> None:
    means = grid.means
    image = axes.imshow(means, cmap=MAP, aspect="auto")
    bar = figure.colorbar(image, ax=axes, label="mIoU", pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    low, high = image.get_clim()
    for (row, column), value in np.ndenumerate(means):
        pale = high > low and (value - low) / (high - low) > 0.55
        ink = theme.muted if np.isnan(value) else "#111" if pale else "#fff"
        label = "–" if np.isnan(value) else f"{value:.1f}"
        axes.text(column, row, label, ha="center", va="center", color=ink, fontsize=8.5)
    if np.isfinite(means).any():
        row, column = np.unravel_index(np.nanargmax(means), means.shape)
        corner = (float(column) - 0.5, float(row) - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, clip_on=False, fill=False, edgecolor=theme.ink, linewidth=1.8))
    axes.set_xticks(range(len(grid.columns)), [str(value) for value in grid.columns])
    axes.set_yticks(range(len(grid.rows)), [str(value) for value in grid.rows])
    axes.set_xlabel(grid.keys[1])
    axes.set_ylabel(grid.keys[0])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _mean(scores: list[float]) -> float:
    return fmean(scores) if scores else float("nan")


def _plain(value: object) -> Setting:
    """A value that can be a key: lists of a grid are spelled out."""
    return value if isinstance(value, int | float | str | None) else str(value)


def _ordered(values: Iterable[Setting]) -> list[Setting]:
    """Numbers by size, before anything else by name."""

    def rank(value: Setting) -> tuple[bool, float, str]:
        return (False, value, "") if isinstance(value, int | float) else (True, 0.0, str(value))

    return sorted(set(values), key=rank)


def _place(grid: Grid, cell: tuple[Setting, Setting]) -> tuple[int, int]:
    return grid.rows.index(cell[0]), grid.columns.index(cell[1])
