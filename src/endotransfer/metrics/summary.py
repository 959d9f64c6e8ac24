"""The figures of an evaluation: per cent where nothing else is said, None for what does not exist."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from endotransfer.metrics.figure import FigureValue
from endotransfer.metrics.flat_model import FlatModel
from endotransfer.metrics.group_kinds import GroupKinds

Ends = tuple[float, float]


class Intervals(FlatModel):
    """Bootstrap intervals (low, high) by figure; of a figure by class, by class."""

    INNER: ClassVar[str] = "ends"

    level: float = 95.0  # per cent
    resamples: int = 0
    groups: int = 0  # how many units were drawn from
    group_kinds: GroupKinds = Field(default_factory=dict)  # of each test set: patients, sequences, clusters, images
    ends: dict[str, Ends | dict[str, Ends | None] | None] = Field(default_factory=dict)

    def of(self, name: str) -> Ends | None:
        """The interval of `miou`, or of one class: `iou.lesion`."""
        found = _look_up(self.ends, name)
        return (found[0], found[1]) if isinstance(found, tuple) else None


class Summary(FlatModel):
    """One evaluation.  In its JSON every key that is no field here is a figure."""

    INNER: ClassVar[str] = "figures"

    images: int | None = None  # with a mask
    unlabelled_images: int | None = None  # of them without one labelled pixel
    figures: dict[str, FigureValue] = Field(default_factory=dict)
    by_finding: dict[str, "Summary"] = Field(default_factory=dict)
    intervals: Intervals | None = None

    def figure(self, name: str) -> float | None:
        """The number called `miou`, `iou.lesion` or `tags.auroc`; None where there is none."""
        found = _look_up(self.figures, name)
        return float(found) if isinstance(found, int | float) else None

    def interval(self, name: str) -> Ends | None:
        return None if self.intervals is None else self.intervals.of(name)

    def __getitem__(self, key: str) -> Any:
        """What results.json has under `key`."""
        return self.to_dict()[key]

    def __contains__(self, key: str) -> bool:
        return key in self.to_dict()


def is_figure(value: object) -> bool:
    """Whether a JSON value has the form of one: a scalar, a list of names, scalars by name."""
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    inside = value.values() if isinstance(value, Mapping) else [value]
    return all(isinstance(one, float | int | str | None) for one in inside)


def _look_up(values: Mapping[str, object], name: str) -> object:
    """`iou.lesion` -> values["iou"]["lesion"]; a class may have a dot in its name."""
    section, dot, key = name.partition(".")
    found = values.get(section)
    return found.get(key) if dot and isinstance(found, Mapping) else None if dot else found
