"""The experiment: data, model, method, training.  Unknown keys are refused; defaults are the paper's, if it has any."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class Strict(BaseModel):
    """A section of an experiment: typed, frozen, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class FolderConfig(Strict):
    """One folder of a domain.  A plain path may stand in its place."""

    path: Path
    split: str | None = None  # None: all of a source, `train` of a target, `test` of a test set (where splits exist)
    where: dict[str, str] = Field(default_factory=dict)  # further columns of labels.csv that must match


class AugmentConfig(Strict):
    """Random changes of a training image.  The paper names none; flips are what method.md decided for it."""

    flip_horizontal: bool = True
    flip_vertical: bool = True
    scale: tuple[float, float] = (1.0, 1.0)  # zoom range of a random crop; (1, 1): none
    colour: float = Field(0.0, ge=0, le=1)  # strength of brightness, contrast, saturation and hue jitter
    blur: float = Field(0.0, ge=0, le=1)  # probability of a Gaussian blur


class SuperpixelConfig(Strict):
    """SLIC.  The paper gives no settings."""

    segments_at_512: int = Field(1000, ge=1)  # scaled with the image's area
    compactness: float = Field(10.0, gt=0)


class DataConfig(Strict):
    """Where images come from.  A domain is a list of folders in the native layout (docs/formats.md)."""

    source: tuple[FolderConfig, ...]
    target: tuple[FolderConfig, ...] = ()
    test: tuple[FolderConfig, ...] | None = None  # None: the target folders
    size: int | tuple[int, int] = 352  # every image is resized to this (height, width) for the network
    tags: bool = True  # False: street scenes, no classification head, no tag is read
    superpixels: SuperpixelConfig = SuperpixelConfig()
    contradictions: Literal["stop", "keep"] = "stop"  # a tag against a mask: an error, or stated and left as it is
    cache: Literal["auto", "always", "never"] = "auto"  # keep decoded images in memory

    @field_validator("source", "target", "test", mode="before")
    @classmethod
    def _plain_paths(cls, value: Any) -> Any:
        if value is None:
            return None
        entries = value if isinstance(value, (list, tuple)) else [value]
        return [{"path": entry} if isinstance(entry, (str, Path)) else entry for entry in entries]

    @property
    def shape(self) -> tuple[int, int]:
        return (self.size, self.size) if isinstance(self.size, int) else self.size


class ModelConfig(Strict):
    """The segmenter.  Defaults: DeepLab-v3 on an ImageNet ResNet-50 at output stride 8, as in the paper."""

    backbone: str = "resnet50"
    pretrained: bool = True  # from timm's hub, unless `weights` names a file
    weights: Path | None = None  # a local safetensors file of backbone weights
    stride_on: Literal["auto", "conv1", "conv2"] = "auto"  # where a ResNet's bottleneck has its stride
    norm: Literal["frozen", "group", "per_domain", "batch"] = "frozen"
    multi_grid: tuple[int, ...] | None = (1, 2, 4)
    aspp_rates: tuple[int, ...] = (12, 24, 36)
    aspp_channels: int = Field(256, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)


class TrainingConfig(Strict):
    """How any method is trained.  One schedule for every row of a table."""

    epochs: int = Field(10, ge=1)
    steps_per_epoch: int | None = Field(None, ge=1)  # None: one pass over the source set
    batch_source: int = Field(4, ge=1)
    batch_target: int = Field(4, ge=1)
    masked_share: float = Field(0.5, gt=0, le=1)  # of a source batch, where tag-only source images exist
    optimiser: Literal["adam", "adamw", "sgd"] = "adam"
    lr: float = Field(1e-4, gt=0)
    head_lr: float = Field(1.0, gt=0)  # multiplies lr for everything that is not backbone
    weight_decay: float = Field(0.0, ge=0)
    momentum: float = Field(0.9, ge=0, lt=1)  # of sgd
    schedule: Literal["staircase", "poly", "cosine", "constant"] = "staircase"
    decay: float = Field(0.7, gt=0, le=1)  # of the staircase
    decay_steps: int = Field(950, ge=1)
    power: float = Field(0.9, gt=0)  # of poly
    warmup_steps: int = Field(0, ge=0)  # linear, before any schedule
    accumulate: int = Field(1, ge=1)  # batches whose gradients make one step
    clip: float | None = Field(None, gt=0)  # largest norm of a gradient
    precision: Literal["32", "bf16", "64"] = "32"
    accelerator: Literal["auto", "cpu", "cuda"] = "auto"
    devices: int = Field(1, ge=1)
    nodes: int = Field(1, ge=1)
    workers: int | None = Field(None, ge=0)  # loader processes; None: by the number of cores
    augment: AugmentConfig = AugmentConfig()
    checkpoint_every: int = Field(500, ge=1)  # steps
    log_every: int = Field(10, ge=1)
    tensorboard: bool = True  # beside metrics.csv, which is always written


class EvaluationConfig(Strict):
    """How numbers are made of predictions."""

    resamples: int = Field(1000, ge=1)  # of the bootstrap
    batch: int = Field(16, ge=1)


class Experiment(Strict):
    """One experiment is one YAML file; this is its type.  `method` is checked by the method's own class."""

    name: str = "experiment"
    seed: int = Field(0, ge=0)
    data: DataConfig
    model: ModelConfig = ModelConfig()
    method: dict[str, Any] = Field(default_factory=lambda: {"name": "semantic_transfer"})
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @field_validator("method", mode="before")
    @classmethod
    def _plain_method(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _method_has_a_name(self) -> "Experiment":
        if not isinstance(self.method.get("name"), str):
            raise ValueError("method.name is missing; `endotransfer methods` lists what there is")
        return self
