"""Reliability diagrams: how often a probability came true, a panel for every system, a line for every seed."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.metrics.pixel_calibration import CalibrationSummary
from endotransfer.metrics.reliability import ReliabilityBin
from endotransfer.report.csv_file import write_csv
from endotransfer.report.drawing import PageFigure, Theme, draw_figure, panels, plain_axes
from endotransfer.report.page import Section, fill, missing
from endotransfer.report.study import Study

MOST = 24  # systems with a panel of their own
SIZE, MARGINS = (2.45, 2.3), (0.42, 0.12, 0.42, 0.3)  # of a panel, in inches
INTRODUCTION = (
    "Of the pixels that were given a probability (horizontal), how many turned out so (vertical): on the dashed line "
    "the two agree, below it the model is too sure. Where there are lesions it is the lesion probability that is "
    "shown. ECE is the mean distance from the line, in per cent; its second figure counts only pixels with a lesion "
    "probability of 0.1 or more, since the many background pixels flatter the first."
)
Measured = dict[str, dict[int, CalibrationSummary]]  # by system, then seed


def reliability_section(study: Study, folder: Path) -> Section:
    measured = _measured(study.cells)
    if not measured:
        body = missing("No run here has calibration figures: measure it again with this version, on images with masks.")
        return Section("calibration", "Calibration", body)
    shown = dict(list(measured.items())[:MOST])
    more = len(measured) - len(shown)
    notes = _warnings(study.cells)
    notes += [f"{more} more systems are left out here; their results.json has the figures."] if more else []
    figure = _figure(shown, folder)
    return Section(
        "calibration", "Calibration", fill("features.html", introduction=INTRODUCTION, shown=figure, notes=notes)
    )


def _warnings(cells: list[BenchmarkCell]) -> list[str]:
    """By system: the mean temperature, and how often it warns of images of its own domain."""
    lines = []
    for label in dict.fromkeys(cell.label for cell in cells):
        results = [cell.results for cell in cells if cell.label == label]
        fitted = [one.temperature.value for one in results if one.temperature and one.temperature.source is not None]
        alarms = [one.familiarity.test for one in results if one.familiarity and one.familiarity.test is not None]
        told = [f"temperature {sum(fitted) / len(fitted):.2f}"] if fitted else []
        told += [f"{sum(alarms) / len(alarms):.1f} % of test images flagged as unfamiliar"] if alarms else []
        lines += [f"{label}: {', '.join(told)}."] if told else []
    return lines


def _measured(cells: list[BenchmarkCell]) -> Measured:
    found: Measured = {}
    for cell in cells:
        if cell.results.calibration is not None:
            found.setdefault(cell.label, {})[cell.seed] = cell.results.calibration
    return found


def _figure(measured: Measured, folder: Path) -> PageFigure:
    rows = [
        [label, seed, *one]
        for label, seeds in measured.items()
        for seed, found in seeds.items()
        for one in found.bins
    ]  # fmt: skip
    write_csv(folder / "calibration.csv", ("system", "seed", *ReliabilityBin._fields), rows)

    def draw(theme: Theme, columns: int) -> Figure:
        figure, axes = panels(theme, len(measured), columns, size=SIZE, margins=MARGINS)
        for cell, (label, seeds) in zip(axes, measured.items(), strict=True):
            _panel(cell, theme, label, seeds)
        return figure

    alt = "Reliability diagrams: " + "; ".join(f"{label}, {_ece(seeds)}" for label, seeds in measured.items())
    return draw_figure(draw, folder / "calibration.png", alt=alt, caption="Bins of 0.05.")


def _panel(axes: Axes, theme: Theme, label: str, seeds: dict[int, CalibrationSummary]) -> None:
    plain_axes(axes, theme)
    axes.plot([0, 1], [0, 1], color=theme.muted, linewidth=0.8, linestyle="--")
    for place, found in enumerate(seeds.values()):
        colour = theme.cycle[place % len(theme.cycle)]
        given, observed = [one.probability for one in found.bins], [one.observed for one in found.bins]
        axes.plot(given, observed, color=colour, marker="o", markersize=2.5)
    axes.set_title(f"{label}\n{_ece(seeds)}")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _ece(seeds: dict[int, CalibrationSummary]) -> str:
    """The mean over seeds: `ECE 1.3, of lesions 12.9`."""
    plain = [found.ece for found in seeds.values() if found.ece is not None]
    lesion = [found.ece_lesion for found in seeds.values() if found.ece_lesion is not None]
    parts = [f"ECE {sum(plain) / len(plain):.1f}"] if plain else []
    return ", ".join([*parts, *([f"of lesions {sum(lesion) / len(lesion):.1f}"] if lesion else [])])
