"""The experiment: data, model, method, training.  Unknown keys are refused; defaults are the paper's, if it has any."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from endotransfer.config.class_lists import PROTOCOLS
from endotransfer.registry import nearest

LARGEST_SEED = 2**63 - 1  # a signed 64-bit integer, which is what every generator and file format takes
LARGEST_BATCH = 4096  # images; what asks for more would gather them for ever
Zoom = Annotated[float, Field(ge=0.1, le=10)]
Positive = Annotated[int, Field(ge=1)]
Side = Annotated[int, Field(ge=32, le=4096)]
Sides = tuple[Side, Side]  # height, width
V2_RATES = (6, 12, 18, 24)  # of DeepLab-v2's classifiers


class Strict(BaseModel):
    """A section of an experiment: typed, frozen, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)


class FolderConfig(Strict):
    """One folder of a domain.  A plain path may stand in its place."""

    path: Path
    layout: str = "auto"  # native, or one of data/layouts/; auto: recognised by its folders, native if in doubt
    split: str | None = None  # None: all of a source, `train` of a target, `test` of a test set (where splits exist)
    where: dict[str, str] = Field(default_factory=dict)  # further columns of labels.csv that must match


class AugmentConfig(Strict):
    """Random changes of a training image.  The paper names none; flips are what method.md decided for it."""

    flip_horizontal: bool = True
    flip_vertical: bool = True
    scale: tuple[Zoom, Zoom] = (1.0, 1.0)  # zoom range of a random crop; (1, 1): none
    crop: Sides | None = None  # (height, width) of the random part that is trained on; None: the whole image
    colour: float = Field(default=0.0, ge=0, le=1)  # strength of brightness, contrast, saturation and hue jitter
    blur: float = Field(default=0.0, ge=0, le=1)  # probability of a Gaussian blur

    @field_validator("scale")
    @classmethod
    def _low_then_high(cls, value: tuple[float, float]) -> tuple[float, float]:
        if value[0] > value[1]:
            raise ValueError("the first number is the smaller one; write for example [0.7, 1.5]")
        return value


class SuperpixelConfig(Strict):
    """SLIC.  The paper gives no settings."""

    segments_at_512: int = Field(default=1000, ge=1)  # scaled with the image's area
    compactness: float = Field(default=10.0, gt=0)


class DataConfig(Strict):
    """Where images come from.  A domain is a list of folders in the native layout (docs/formats.md)."""

    source: tuple[FolderConfig, ...]
    target: tuple[FolderConfig, ...] = ()
    test: tuple[FolderConfig, ...] | None = None  # None: the target folders
    classes: str | None = None  # a list of protocols.py; None: what the folders themselves say
    size: int | tuple[int, int] = 352  # every image is resized to this (height, width) for the network
    source_size: int | tuple[int, int] | None = None  # of source images, where crops make domains equal; None: size
    tags: bool = True  # False: street scenes, no classification head, no tag is read
    superpixels: SuperpixelConfig = SuperpixelConfig()
    reviewed: Literal["ignore", "use"] = "ignore"  # masks of target images that a person confirmed in the viewer
    contradictions: Literal["stop", "keep"] = "stop"  # a tag against a mask: an error, or stated and left as it is
    cache: Literal["auto", "always", "never"] = "auto"  # keep decoded images in memory

    @field_validator("source", "target", "test", mode="before")
    @classmethod
    def _plain_paths(cls, value: Any) -> Any:
        if value is None:
            return None
        entries = value if isinstance(value, (list, tuple)) else [value]
        return [{"path": entry} if isinstance(entry, (str, Path)) else entry for entry in entries]

    @field_validator("source")
    @classmethod
    def _some_source(cls, value: tuple[FolderConfig, ...]) -> tuple[FolderConfig, ...]:
        if not value:
            raise ValueError("masks to learn from are needed; name at least one folder")
        return value

    @field_validator("classes")
    @classmethod
    def _known_classes(cls, value: str | None) -> str | None:
        if value is not None and value not in PROTOCOLS:
            raise ValueError(f"there is no list of classes called '{value}'; {nearest(value, PROTOCOLS.names())}")
        return value

    @field_validator("size", "source_size")
    @classmethod
    def _usable_size(cls, value: int | tuple[int, int] | None) -> int | tuple[int, int] | None:
        sides = value if isinstance(value, tuple) else (value,)
        if not all(side is None or 32 <= side <= 4096 for side in sides):
            raise ValueError("height and width are 32 to 4096 pixels each; write for example 352 or [256, 320]")
        return value

    @property
    def shape(self) -> tuple[int, int]:
        return (self.size, self.size) if isinstance(self.size, int) else self.size

    @property
    def source_shape(self) -> tuple[int, int]:
        size = self.size if self.source_size is None else self.source_size
        return (size, size) if isinstance(size, int) else size


class ModelConfig(Strict):
    """The segmenter.  Defaults: DeepLab-v3 on an ImageNet ResNet-50 at output stride 8, as in the paper."""

    backbone: str = "resnet50"
    pretrained: bool = True  # from timm's hub, unless `weights` names a file
    weights: Path | None = None  # a local safetensors file of backbone weights
    stride_on: Literal["auto", "conv1", "conv2"] = "auto"  # where a ResNet's bottleneck has its stride
    norm: Literal["frozen", "group", "per_domain", "batch"] = "frozen"
    head: Literal["deeplab_v3", "deeplab_v2"] = "deeplab_v3"
    multi_grid: tuple[int, ...] | None = (1, 2, 4)
    aspp_rates: tuple[Positive, ...] = Field(default=(12, 24, 36), min_length=1)
    aspp_channels: int = Field(default=256, ge=1)
    dropout: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _as_in_deeplab_v2(cls, values: Any) -> Any:
        """The older network has its own rates and no multi-grid; whatever is written wins."""
        if isinstance(values, dict) and values.get("head") == "deeplab_v2":
            return {"aspp_rates": V2_RATES, "multi_grid": None, **values}
        return values


class TrainingConfig(Strict):
    """How any method is trained.  One schedule for every row of a table."""

    epochs: int = Field(default=10, ge=1)
    steps_per_epoch: int | None = Field(default=None, ge=1)  # None: one pass over the source set
    batch_source: int = Field(default=4, ge=1, le=LARGEST_BATCH)
    batch_target: int = Field(default=4, ge=1, le=LARGEST_BATCH)
    batch_reviewed: int = Field(default=4, ge=1, le=LARGEST_BATCH)  # where data.reviewed is `use`
    reviewed_weight: float = Field(default=1.0, gt=0)  # of their cross-entropy
    sampling: Literal["images", "classes"] = "images"  # classes: each comes up equally often in source masks
    masked_share: float = Field(default=0.5, gt=0, le=1)  # of a source batch, where tag-only source images exist
    optimiser: Literal["adam", "adamw", "sgd"] = "adam"
    lr: float = Field(default=1e-4, gt=0)
    head_lr_factor: float = Field(default=1.0, gt=0)  # multiplies lr for everything that is not backbone
    weight_decay: float = Field(default=0.0, ge=0)
    momentum: float = Field(default=0.9, ge=0, lt=1)  # of sgd
    schedule: Literal["staircase", "poly", "cosine", "constant"] = "staircase"
    decay: float = Field(default=0.7, gt=0, le=1)  # of the staircase
    decay_steps: int = Field(default=950, ge=1)
    power: float = Field(default=0.9, gt=0)  # of poly
    warmup_steps: int = Field(default=0, ge=0)  # linear, before any schedule
    accumulate: int = Field(default=1, ge=1)  # batches whose gradients make one step
    clip: float | None = Field(default=None, gt=0)  # largest norm of a gradient
    precision: Literal["32", "bf16", "64"] = "32"
    graphs: bool = True  # CUDA graphs for the segmenter, where they change nothing but the speed
    accelerator: Literal["auto", "cpu", "cuda"] = "auto"  # auto: cuda or cpu, never MPS, which has no float64
    devices: int = Field(default=1, ge=1)
    nodes: int = Field(default=1, ge=1)
    workers: int | None = Field(default=None, ge=0)  # loader processes; None: by the number of cores
    augment: AugmentConfig = AugmentConfig()
    checkpoint_every: int = Field(default=500, ge=1)  # steps
    log_every: int = Field(default=10, ge=1)
    tensorboard: bool = True  # beside metrics.csv, which is always written

    @field_validator("precision", mode="before")
    @classmethod
    def _plain_number(cls, value: Any) -> Any:
        """YAML reads `precision: 32` as a number, and nobody should have to write quotes."""
        return str(value) if isinstance(value, int) else value


class EvaluationConfig(Strict):
    """How numbers are made of predictions."""

    resamples: int = Field(default=1000, ge=1)  # of the bootstrap
    batch: int = Field(default=16, ge=1, le=LARGEST_BATCH)
    pranet: bool = False  # also the figures of the PraNet protocol
    size: Sides | Literal["own"] | None = None  # what the network sees: None: data.size; own: each image's own size
    window: Sides | None = None  # a sliding window (height, width) over that; None: the whole image at once


class Experiment(Strict):
    """One experiment is one YAML file; this is its type.  `method` is checked by the method's own class."""

    name: str = "experiment"
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
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

    @model_validator(mode="after")
    def _crops_fit(self) -> "Experiment":
        crop, data = self.training.augment.crop, self.data
        if crop is None and data.source_shape != data.shape:
            raise ValueError("data.source_size differs from data.size; set training.augment.crop to make them equal")
        for shape in (data.source_shape, data.shape):
            if crop is not None and (crop[0] > shape[0] or crop[1] > shape[1]):
                raise ValueError(f"training.augment.crop {list(crop)} is larger than images of {list(shape)}; lower it")
        if self.evaluation.window is not None and data.tags:
            raise ValueError("evaluation.window needs `data.tags: false`, since a tag is about the whole image")
        return self
