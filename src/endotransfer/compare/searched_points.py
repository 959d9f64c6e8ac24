"""What searches found, one line a setting, and the settings that are best over several transfers."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from endotransfer.compare.label_summary import LabelSummary
from endotransfer.compare.sweep_matrix import swept_figures
from endotransfer.errors import ConfigError
from endotransfer.io import read_bounded
from endotransfer.spreadsheet import safe_cell

COLUMNS = ("system", "settings", "seeds")


@dataclass(frozen=True)
class SearchedPoint:
    """`settings` of a system, as `search.csv` has them, and their mIoU in the mean of seeds."""

    system: str
    settings: str
    miou: float | None


def searched_points(summary: Sequence[LabelSummary]) -> list[SearchedPoint]:
    return [SearchedPoint(entry.group or "", _settings(entry), entry.mean.get("miou")) for entry in summary]


def as_search_csv(summary: Sequence[LabelSummary]) -> str:
    """One line a setting: the system, its settings, its seeds, the mean of each figure; the best of a system first."""
    names, text = [figure.name for figure in swept_figures()], io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*COLUMNS, *names])
    order = list(dict.fromkeys(entry.group for entry in summary))
    for entry in sorted(summary, key=lambda one: (order.index(one.group), -(one.mean.get("miou") or 0.0))):
        figures = (entry.mean.get(name) for name in names)
        shown = ["" if value is None else f"{value:.4f}" for value in figures]
        table.writerow([safe_cell(entry.group), safe_cell(_settings(entry)), len(entry.seeds), *shown])
    return text.getvalue()


def read_search_csv(path: Path) -> list[SearchedPoint]:
    """The `search.csv` of a search on another transfer."""
    fix = "give the search.csv that `endotransfer sweep --grids` wrote"
    try:
        table = csv.DictReader(io.StringIO(read_bounded(path, ConfigError, fix).decode()), strict=True)
        points = [
            SearchedPoint(line["system"], line["settings"], float(line["miou"]) if line["miou"] else None)
            for line in table
        ]
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}; {fix}.") from None
    except (KeyError, TypeError, ValueError, csv.Error):
        points = []
    if not points:
        raise ConfigError(f"{path} is no table of a search; {fix}.")
    return points


def best_settings(searches: Sequence[Sequence[SearchedPoint]]) -> dict[str, tuple[str, float]]:
    """Of each system the settings with the largest mIoU in the mean of several searches, and that mean.

    Settings that some search has no figure for are left out.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for search in searches:
        for point in search:
            if point.miou is not None:
                found.setdefault(point.system, {}).setdefault(point.settings, []).append(point.miou)
    best = {}
    for system, figures in found.items():
        means = {settings: sum(some) / len(some) for settings, some in figures.items() if len(some) == len(searches)}
        if means:
            settings = max(means, key=lambda one: means[one])
            best[system] = settings, means[settings]
    return best


def _settings(entry: LabelSummary) -> str:
    return " ".join(f"{key}={value}" for key, value in (entry.grid or {}).items())
