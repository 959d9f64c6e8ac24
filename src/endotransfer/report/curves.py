"""Loss curves: a panel for every term of the objective, a line for every seed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from endotransfer.engine.run_log import COLUMNS, read_log
from endotransfer.report.csv_file import write_csv
from endotransfer.report.drawing import PageFigure, Theme, draw_figure, panels, plain_axes
from endotransfer.report.page import Section, fill, missing
from endotransfer.report.study import Run, Study, file_name

MOST = 24  # systems with a figure of their own
SIZE, MARGINS = (2.45, 1.7), (0.45, 0.12, 0.3, 0.28)  # of a panel, in inches
SMOOTH = 5  # points of the running mean
INTRODUCTION = (
    "What training minimised, one panel a term (weighted, as it enters the sum), each with a scale of its own; one "
    "line a seed, the faint line as logged and the strong one its running mean. A shaded stretch is a later stage."
)


@dataclass(frozen=True)
class Series:
    """One figure of one run over its steps."""

    name: str
    steps: list[int]
    values: list[float]


@dataclass(frozen=True)
class Curves:
    seed: int
    rows: list[list[str]]  # of metrics.csv, untouched
    series: dict[str, Series]
    stages: list[tuple[int, str]]  # the step at which each begins


@dataclass(frozen=True)
class SystemCurves:
    """What the page shows of one system; `figure` None: its runs logged nothing."""

    label: str
    note: str = ""
    figure: PageFigure | None = None
    open: bool = False


def curves_section(study: Study, folder: Path) -> Section:
    systems = list(study.systems().items())
    if not systems:
        body = missing("No run folder lies here, only figures, so there are no loss curves.")
        return Section("curves", "Loss curves", body)
    shown: list[SystemCurves] = []
    taken: list[str] = []
    for label, runs in systems[:MOST]:
        curves = [found for run in runs if (found := read_curves(run)) is not None]
        if not curves:
            shown.append(SystemCurves(label))
            continue
        taken.append(file_name(label, taken))
        figure = _figure(label, curves, folder, f"curves-{taken[-1]}")
        note = f"{len(curves)} seed{'s' * (len(curves) > 1)}"
        shown.append(SystemCurves(label, note, figure, open=len(taken) == 1))
    more = max(0, len(systems) - MOST)
    return Section("curves", "Loss curves", fill("curves.html", introduction=INTRODUCTION, systems=shown, more=more))


def read_curves(run: Run) -> Curves | None:
    """What `run` logged; None where there is no loss among it."""
    rows = read_log(run.path)
    series: dict[str, Series] = {}
    stages: list[tuple[int, str]] = []
    before = 0  # the last step of the stage before
    for row in rows:
        one = series.setdefault(row.name, Series(row.name, [], []))
        one.steps.append(row.step)
        one.values.append(row.value)
        if not row.name.startswith("pass/") and (not stages or stages[-1][1] != row.stage):
            stages.append((before, row.stage))
        before = row.step
    shown = {name: series[name] for name in _in_order(series)}
    return Curves(run.seed, [row.cells for row in rows], shown, stages) if shown else None


def _in_order(names: Sequence[str] | dict[str, Series]) -> list[str]:
    """The sum of each phase, its terms, then what the target passes labelled; shares and rates stay in the CSV."""
    kinds = ("loss/", "term/", "pass/coverage", "pass/labelled_")
    return [name for kind in kinds for name in names if name.startswith(kind)]


def _figure(label: str, curves: list[Curves], folder: Path, name: str) -> PageFigure:
    rows = [[one.seed, *row] for one in curves for row in one.rows]
    write_csv(folder / f"{name}.csv", ("seed", *COLUMNS), rows)
    names = list(dict.fromkeys(name for one in curves for name in one.series))

    def draw(theme: Theme, columns: int) -> Figure:
        figure, axes = panels(theme, len(names), columns, size=SIZE, margins=MARGINS)
        for cell, series in zip(axes, names, strict=True):
            _panel(cell, theme, series, curves)
        return figure

    alt = f"Loss curves of {label}: {', '.join(names)}"
    return draw_figure(draw, folder / f"{name}.png", alt=alt, caption="Horizontal: training steps.")


def _panel(axes: Axes, theme: Theme, name: str, curves: list[Curves]) -> None:
    plain_axes(axes, theme)
    for (begin, _), shade in zip(curves[0].stages[1:], (True, False) * 8, strict=False):
        end = next((step for step, _ in curves[0].stages if step > begin), None)
        if shade:
            last = end or max(one.steps[-1] for one in curves[0].series.values())
            axes.axvspan(begin, last, color=theme.line, alpha=0.35, linewidth=0)
    for place, one in enumerate(curves):
        series = one.series.get(name)
        if series is None:
            continue
        colour = theme.cycle[place % len(theme.cycle)]
        dots = "o" if len(series.steps) < 2 * SMOOTH else None
        axes.plot(series.steps, series.values, color=colour, alpha=0.3 if dots is None else 1, linewidth=0.9,
                  marker=dots, markersize=2.5)  # fmt: skip
        if dots is None:
            axes.plot(series.steps, running_mean(series.values), color=colour)
    exponent = _exponent([one.series[name].values for one in curves if name in one.series])
    axes.set_title(name if exponent == 0 else f"{name} (× 1e{exponent})")
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 10**exponent:.4g}")
    axes.set_xlim(left=0)
    axes.margins(x=0.02)


def _exponent(values: list[list[float]]) -> int:
    """The power of ten that small or large values share, so that their ticks stay short; 0 where they are short."""
    largest = np.nanmax(np.abs(np.concatenate(values)))
    return 0 if not np.isfinite(largest) or 0.01 <= largest < 1000 or largest == 0 else math.floor(math.log10(largest))


def running_mean(values: Sequence[float], width: int = SMOOTH) -> NDArray[np.float64]:
    """The mean of each value and those before it, never of later ones: a jump shows where it was."""
    sums = np.convolve(values, np.ones(width))[: len(values)]
    return sums / np.minimum(np.arange(1, len(values) + 1), width)
