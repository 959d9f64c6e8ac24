"""What results.json of a benchmark says of one row over its seeds."""

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue

from endotransfer.metrics.flat_model import FlatModel
from endotransfer.metrics.group_kinds import GroupKinds
from endotransfer.metrics.summary import Ends

Over = Literal["seeds and images", "images", "seeds"]


class IntervalBasis(FlatModel):
    """What intervals rest on."""

    seeds: list[int] = Field(default_factory=list)
    level: float = 95.0
    over: Over | None = None  # what could have been otherwise; `images`: one seed, or a file of an older version
    resamples: int | None = None
    groups: int | None = None  # of test images; None: not known
    group_kinds: GroupKinds = Field(default_factory=dict)
    note: str | None = None  # why it is not seeds and images


class FigureDifference(FlatModel):
    mean: float | None
    interval: Ends | None = None


class Differences(IntervalBasis):
    """Figures less those of the reference, cells paired by seed."""

    INNER: ClassVar[str] = "figures"

    against: str | None = None
    figures: dict[str, FigureDifference] = Field(default_factory=dict)


class MeanIntervals(IntervalBasis):
    """Of the mean of each figure over the seeds."""

    INNER: ClassVar[str] = "ends"

    ends: dict[str, Ends | None] = Field(default_factory=dict)


class Standing(FlatModel):
    """Of one row in one column: 1 is best or not told apart from the leader, 2 the same among the rest, None neither.

    The difference is to the row with the best mean, `leader`.
    """

    place: int | None = None
    leader: str
    mean: float | None = None
    interval: Ends | None = None


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
    intervals: MeanIntervals | None = None
    difference: float | None = None  # of mIoU to the reference
    interval: Ends | None = None
    differences: Differences | None = None
    standings: dict[str, Standing] = Field(default_factory=dict)  # by figure
    settings: dict[str, list[JsonValue]] = Field(default_factory=dict)  # that other rows have not: [own, theirs]
