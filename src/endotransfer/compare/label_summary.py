"""What results.json of a benchmark says of one row over its seeds."""

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue

from endotransfer.metrics.flat_model import FlatModel
from endotransfer.metrics.summary import Ends


class FigureDifference(FlatModel):
    mean: float | None
    interval: Ends | None = None


class Differences(FlatModel):
    """Figures less those of the reference, cells paired by seed."""

    INNER: ClassVar[str] = "figures"

    against: str | None = None
    seeds: list[int] = Field(default_factory=list)
    level: float = 95.0
    over: Literal["images", "seeds"] | None = None  # what the intervals were drawn over
    resamples: int | None = None
    note: str | None = None  # why it is not images
    figures: dict[str, FigureDifference] = Field(default_factory=dict)


class LabelSummary(FlatModel):
    """Mean, deviation (of a sample; None with one seed) and difference to the reference of each figure."""

    model_config = ConfigDict(extra="ignore")

    label: str
    group: str | None = None
    same_as: str | None = None
    grid: dict[str, JsonValue] | None = None
    method: str = ""
    preset: str = "default"
    variant: str | None = None
    seeds: list[int] = Field(default_factory=list)
    mean: dict[str, float | None] = Field(default_factory=dict)
    deviation: dict[str, float | None] = Field(default_factory=dict)
    difference: float | None = None  # of mIoU to the reference
    interval: Ends | None = None
    differences: Differences | None = None
