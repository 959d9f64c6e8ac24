"""What a training run left behind, for the second tab: curves, and the pseudo-labels of a few images as they grew."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from endotransfer.data.folders.listing import leads_outside
from endotransfer.engine.run_folder import PROPAGATION
from endotransfer.engine.run_log import read_log
from endotransfer.metrics.figure import figures, leading_first
from endotransfer.results import Results
from endotransfer.serve.answers import refuse_unknown

SHOWN = re.compile(r"loss/|term/|pass/(coverage|portion|labelled_|threshold_)")
POINTS = 300  # of a curve; more than a screen can show
IDENTITY = ("name", "method", "preset", "seed", "date", "images")


@dataclass
class CurveSeries:
    """One figure over the steps (of a pass: over the epochs)."""

    steps: list[int] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def thinned(self, most: int = POINTS) -> "CurveSeries":
        """At most `most` points, each the mean of its neighbours, at the last of them."""
        width = math.ceil(len(self.values) / most) or 1
        parts = [slice(start, min(start + width, len(self.values))) for start in range(0, len(self.values), width)]
        return CurveSeries(
            [self.steps[part.stop - 1] for part in parts],
            [self.epochs[part.stop - 1] for part in parts],
            [sum(self.values[part]) / (part.stop - part.start) for part in parts],
        )


def read_curves(run: Path) -> dict[str, CurveSeries]:
    """Every loss, every term and what each target pass did, by name; empty where nothing was logged."""
    found: dict[str, CurveSeries] = {}
    for row in read_log(run):
        if SHOWN.match(row.name) and math.isfinite(row.value):
            series = found.setdefault(row.name, CurveSeries())
            series.steps.append(row.step)
            series.epochs.append(row.epoch)
            series.values.append(row.value)
    return {name: series.thinned() for name, series in found.items()}


class ShownFigure(TypedDict):
    """A figure of a run as the page shows it."""

    name: str
    title: str
    value: float
    unit: str


def read_results(run: Path) -> dict[str, object]:
    """What the run is, and `figures`, those of every table; empty for a run that is not finished."""
    results = Results.read_if_whole(run / "results.json")
    if results is None:
        return {}
    content = results.to_dict()
    return {**{name: content[name] for name in IDENTITY if name in content}, "figures": shown_figures(results)}


def shown_figures(results: Results) -> list[ShownFigure]:
    known = leading_first(figure for figure in figures(results.classes, shown=("main",)) if not figure.by_class)
    return [
        ShownFigure(name=figure.name, title=figure.heading, value=value, unit="%" if figure.unit == "%" else "")
        for figure in known
        if (value := results.figure(figure.name)) is not None
    ] + _trust(results)


def _trust(results: Results) -> list[ShownFigure]:
    """How far probabilities hold, and how often the model warns of images of its own domain."""
    found = results.calibration
    errors = [] if found is None else [("ece", "Calibration error", found.ece)]
    errors += [] if found is None else [("ece_lesion", "Calibration error where lesion is probable", found.ece_lesion)]
    shown = [
        ShownFigure(name=f"calibration.{name}", title=title, value=value, unit="%")
        for name, title, value in errors
        if value is not None
    ]
    if results.temperature is not None and results.temperature.source is not None:
        value = results.temperature.value
        shown.append(ShownFigure(name="temperature", title="Temperature of probabilities", value=value, unit=""))
    alarms = results.familiarity.test if results.familiarity else None
    if alarms is not None:
        title = "Test images called unlike the training images"
        shown.append(ShownFigure(name="familiarity.test", title=title, value=alarms, unit="%"))
    return shown


def propagation_maps(run: Path) -> dict[str, dict[int, Path]]:
    """The pseudo-labels in `propagation/`: image -> epoch -> file.  Links that leave the run are passed over."""
    maps: dict[str, dict[int, Path]] = {}
    for folder in sorted((run / PROPAGATION).glob("epoch-*")):
        number = folder.name.removeprefix("epoch-")
        if not number.isdecimal() or leads_outside(folder, run):
            continue
        for file in sorted(folder.rglob("*.png")):
            if file.is_file() and not leads_outside(file, run):
                maps.setdefault(str(file.relative_to(folder).with_suffix("")), {})[int(number)] = file
    return maps


def find_map(run: Path, image: int, epoch: int) -> Path:
    """The map of the `image`-th of the followed images; both numbers are looked up, never made into a name."""
    images = list(propagation_maps(run).values())
    if not 0 <= image < len(images) or epoch not in images[image]:
        raise refuse_unknown("map")
    return images[image][epoch]
