"""The figures of an evaluation: per cent where nothing else is said, None for what does not exist."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from endotransfer.metrics.figure import FigureValue

Ends = tuple[float, float]


class Intervals(BaseModel):
    """Bootstrap intervals (low, high) by figure; of a figure by class, by class."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: float = 95.0  # per cent
    resamples: int = 0
    groups: int = 0  # what was drawn: patients, clusters, or single images
    ends: dict[str, Ends | dict[str, Ends | None] | None] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, raw: object) -> object:
        return nested(raw, cls, "ends")

    def of(self, name: str) -> Ends | None:
        """The interval of `miou`, or of one class: `iou.lesion`."""
        found = _look_up(self.ends, name)
        return (found[0], found[1]) if isinstance(found, tuple) else None

    def to_dict(self) -> dict[str, object]:
        return flat(self, "ends")


class Summary(BaseModel):
    """One evaluation.  As JSON it is flat: every key that is no field here is a figure."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    images: int | None = None  # with a mask
    unlabelled_images: int | None = None  # of them without one labelled pixel
    figures: dict[str, FigureValue] = Field(default_factory=dict)
    by_finding: dict[str, "Summary"] = Field(default_factory=dict)
    intervals: Intervals | None = None

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, raw: object) -> object:
        return nested(raw, cls, "figures")

    def figure(self, name: str) -> float | None:
        """The number called `miou`, `iou.lesion` or `tags.auroc`; None where there is none."""
        found = _look_up(self.figures, name)
        return float(found) if isinstance(found, int | float) else None

    def interval(self, name: str) -> Ends | None:
        return None if self.intervals is None else self.intervals.of(name)

    def to_dict(self) -> dict[str, object]:
        """As results.json has it."""
        return flat(self, "figures")

    def __getitem__(self, key: str) -> Any:
        """What results.json has under `key`."""
        return self.to_dict()[key]

    def __contains__(self, key: str) -> bool:
        return key in self.to_dict()


def nested(raw: object, model: type[BaseModel], into: str) -> object:
    """Flat JSON as `model` wants it: keys that are no field go `into` one, in their order."""
    if not isinstance(raw, Mapping) or into in raw:
        return raw
    fields = {key: value for key, value in raw.items() if key in model.model_fields}
    return {**fields, into: {key: value for key, value in raw.items() if key not in model.model_fields}}


def flat(model: BaseModel, *inner: str, order: Iterable[str] | None = None) -> dict[str, object]:
    """The opposite of `nested`: the fields `inner` are dissolved into the whole; what was never set is left out."""
    content: dict[str, object] = {}
    for name in order or type(model).model_fields:
        if name in inner:
            content |= {key: _plain(value) for key, value in getattr(model, name).items()}
        elif name in model.model_fields_set:
            content[name] = _plain(getattr(model, name))
    return content


def is_figure(value: object) -> bool:
    """Whether a JSON value has the form of one: a scalar, a list of names, scalars by name."""
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    inside = value.values() if isinstance(value, Mapping) else [value]
    return all(isinstance(one, float | int | str | None) for one in inside)


def _plain(value: object) -> object:
    if isinstance(value, Summary | Intervals):
        return value.to_dict()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _look_up(values: Mapping[str, object], name: str) -> object:
    """`iou.lesion` -> values["iou"]["lesion"]; a class may have a dot in its name."""
    section, dot, key = name.partition(".")
    found = values.get(section)
    return found.get(key) if dot and isinstance(found, Mapping) else None if dot else found
