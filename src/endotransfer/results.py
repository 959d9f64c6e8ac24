"""results.json of a run: what was measured, its figures with intervals, what it cost and what training found."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from endotransfer.errors import CheckpointError, EndotransferError
from endotransfer.io import read_json_object, write_atomically
from endotransfer.metrics.collapse import ALL_LESION, NO_LESION
from endotransfer.metrics.figure import Scalar
from endotransfer.metrics.pixel_calibration import CalibrationSummary
from endotransfer.metrics.summary import Summary, is_figure

AGAIN = "measure the run again with `train --resume`"


class Cost(BaseModel):
    """What training took, of the last sitting where a run was resumed."""

    model_config = ConfigDict(extra="allow")

    seconds: float = 0.0
    target_pass_seconds: float = 0.0
    steps: int = 0
    images_per_second: float | None = None
    device: str = ""
    processes: int = 1
    threads: int = 1
    cores: int | None = None
    torch: str = ""
    gpu_memory_gb: float | None = None
    conversions: dict[str, int] = Field(default_factory=dict)  # what was changed or left out, and in how many files


class Temperature(BaseModel):
    """What pixel logits are divided by before they become probabilities, and what it was fitted to."""

    model_config = ConfigDict(frozen=True)

    value: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    source: float | None = None  # what masks of source images ask for that were not trained on
    tags: float | None = None  # what tags of target training images ask for
    source_images: int = 0
    target_images: int = 0
    note: str = ""  # why it was not fitted


class Alarms(BaseModel):
    """How often images of its own domain are called unlike the training images: per cent."""

    model_config = ConfigDict(frozen=True)

    held_out: float | None = None  # of training images, each held against images of other groups
    test: float | None = None  # of test images
    images: int = 0  # training images that it was fitted to
    test_images: int = 0
    domain: str = "target"  # whose training images
    note: str = ""  # why it was not fitted


class Results(Summary):
    """What `train` and `evaluate` return.  `results.figure("miou")` is a number, `results["iou"]` what the file has."""

    ORDER: ClassVar[tuple[str, ...]] = (
        "method", "preset", "variant", "seed", "classes", "date", "version", "name", "images", "unlabelled_images",
        "figures", "by_finding", "intervals", "tag_evidence", "calibration", "temperature", "familiarity", "pranet",
        "cost", "findings", "remarks", "flips",
    )  # fmt: skip

    method: str
    preset: str = "default"
    variant: str | None = None
    seed: int = 0
    classes: list[str] = Field(default_factory=list)
    date: str = ""
    version: str = ""
    name: str = ""  # of the experiment
    tag_evidence: dict[str, Scalar] | None = None  # agreement with tags alone
    calibration: CalibrationSummary | None = None  # of pixel probabilities; None where no test image has a mask
    temperature: Temperature | None = None  # None: measured before there was one
    familiarity: Alarms | None = None  # of the warning about other images; None: measured before there was one
    pranet: dict[str, Scalar] | None = None  # figures of that protocol
    cost: Cost | None = None
    findings: dict[str, JsonValue] = Field(default_factory=dict)  # the method's own; in the file each under its own key
    remarks: list[str] = Field(default_factory=list)  # sentences on what training found
    flips: bool = False  # measured as the mean over four mirror images

    @classmethod
    def collect(cls, raw: Mapping[str, object]) -> dict[str, object]:
        """Of the keys that are no field here, those behind `cost` are findings, as is whatever can be no figure."""
        keys = list(raw)
        behind_cost = keys[keys.index("cost") :] if "cost" in keys else []
        unknown = [key for key in keys if key not in cls.model_fields]
        findings = {key: raw[key] for key in unknown if key in behind_cost or not is_figure(raw[key])}
        rest = {key: value for key, value in raw.items() if key not in findings}
        return {**super().collect(rest), "findings": findings}

    @property
    def system(self) -> str:
        """`lta (multi)`; a method without presets is its name alone; measured with flips it says so."""
        named = self.method if self.preset == "default" else f"{self.method} ({self.preset})"
        return named + (" with flips" if self.flips else "")

    @property
    def collapsed(self) -> str | None:
        """What a model does that gives one answer everywhere.  An older file tells by classes without a precision."""
        if "collapsed" in self.figures or self.figure("miou") is None:
            said = self.figures.get("collapsed")
            return said if isinstance(said, str) else None
        true = [name for name in self.classes if self.figure(f"recall.{name}") is not None]
        predicted = [name for name in self.classes if self.figure(f"precision.{name}") is not None]
        if len(predicted) != 1 or len(true) < 2:
            return None
        if self.figure("iou_lesion") is None:
            return f"predicts nothing but {predicted[0]}"
        return NO_LESION if predicted == self.classes[:1] else ALL_LESION if len(self.classes) == 2 else None

    def to_dict(self) -> dict[str, object]:
        return self.in_order(self.ORDER, ("figures", "findings"))

    def write(self, path: Path, error: type[EndotransferError] = CheckpointError) -> None:
        write_atomically(path, json.dumps(self.to_dict(), indent=2), error)

    @classmethod
    def read(cls, path: Path) -> "Results":
        """A results.json; CheckpointError where there is none, or none that can be used."""
        if not path.exists():
            raise CheckpointError(f"{path.parent} has no {path.name}; name the folder of a finished run.")
        content = read_json_object(path, CheckpointError, AGAIN)
        try:
            return cls.model_validate(content)
        except ValidationError as reason:
            fault = reason.errors(include_url=False)[0]
            where = ".".join(map(str, fault["loc"])) or "its content"
            raise CheckpointError(f"{path} is damaged: {where}: {fault['msg']}; {AGAIN}.") from None

    @classmethod
    def read_if_whole(cls, path: Path) -> "Results | None":
        """None where `read` would refuse: a run that is not finished, or a damaged file."""
        try:
            return cls.read(path)
        except CheckpointError:
            return None
