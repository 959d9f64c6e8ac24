"""The same search for every system: the grids of several systems, trained as the rows of one benchmark."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

from endotransfer.compare.suite import Suite, read_mapping_with_phantom, suite_from
from endotransfer.compare.sweep import MOST_POINTS, entry_of, row_called
from endotransfer.compare.sweep_matrix import Grid, Point
from endotransfer.config.strict import RawConfig
from endotransfer.errors import ConfigError
from endotransfer.io import read_yaml

Grids = dict[str, Grid]  # by the label of a system


def read_grids(path: Path) -> Grids:
    """A YAML file of `LABEL: {key: [values], ...}`; a key's values are tried with all values of the others."""
    example = "write for example `lta: {weight: [0.01, 0.1]}`"
    try:
        raw = read_yaml(path, ConfigError, "mend it, or give another YAML file")
    except FileNotFoundError:
        raise ConfigError(f"there is no file of grids {path}; check the path.") from None
    if not isinstance(raw, dict) or not raw:
        raise ConfigError(f"{path} names no system; {example}.")
    for label, grid in raw.items():
        if not isinstance(grid, dict) or not grid or not all(isinstance(v, list) and v for v in grid.values()):
            raise ConfigError(f"{path}: '{label}' has no grid; {example}.")
    return {str(label): grid for label, grid in raw.items()}


def read_search(path: Path | str, grids: Mapping[str, Grid], overrides: list[str] | None = None) -> Suite:
    """The task of a suite's file, with every point of the grid of every system for rows, grouped by system."""
    raw, folder = read_mapping_with_phantom(Path(path), overrides)
    suite = suite_from(raw, folder, str(path))
    entries = [_searched(suite, label, point) for label, grid in grids.items() for point in points_of(grid)]
    if len(entries) > MOST_POINTS:
        raise ConfigError(f"the grids have {len(entries)} points; a search takes at most {MOST_POINTS}.")
    return suite_from({**raw, "systems": entries, "reference": None, "table": None}, folder, str(path))


def points_of(grid: Grid) -> list[Point]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _searched(suite: Suite, label: str, point: Point) -> RawConfig:
    entry = entry_of(row_called(suite, label), point)
    return {**entry, "label": f"{label}: {entry['label']}", "group": label}
