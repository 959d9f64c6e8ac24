"""`training`: the schedule, the batches and the machine, the same for every method."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from endotransfer.config.strict import LARGEST_BATCH, MOST_EPOCHS, MOST_PROCESSES, MOST_STEPS, Sides, Strict

Zoom = Annotated[float, Field(ge=0.1, le=10)]


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


class TrainingConfig(Strict):
    """How any method is trained.  One schedule for every row of a table."""

    epochs: int = Field(default=10, ge=1, le=MOST_EPOCHS)
    steps_per_epoch: int | None = Field(default=None, ge=1, le=MOST_STEPS)  # None: one pass over the source set
    batch_source: int = Field(default=4, ge=1, le=LARGEST_BATCH)
    batch_target: int = Field(default=4, ge=1, le=LARGEST_BATCH)
    batch_reviewed: int = Field(default=4, ge=1, le=LARGEST_BATCH)  # where data.reviewed is `use`
    reviewed_weight: float = Field(default=1.0, gt=0)  # of their cross-entropy
    # A target image tagged normal IS a complete, empty mask: so many a step supervise every method alike.
    batch_normals: int = Field(default=0, ge=0, le=LARGEST_BATCH)
    mean_teacher: float | None = Field(default=None, ge=0, lt=1)  # momentum of the averaged weights that predict
    sampling: Literal["images", "classes"] = "images"  # classes: each comes up equally often in source masks
    masked_share: float = Field(default=0.5, gt=0, le=1)  # of a source batch, where tag-only source images exist
    optimiser: Literal["auto", "adam", "adamw", "sgd"] = "auto"  # auto, None: models/backbones/families.py
    lr: float | None = Field(default=None, gt=0)
    head_lr_factor: float = Field(default=1.0, gt=0)  # multiplies lr for everything that is not backbone
    weight_decay: float | None = Field(default=None, ge=0)
    momentum: float = Field(default=0.9, ge=0, lt=1)  # of sgd
    schedule: Literal["staircase", "poly", "cosine", "constant"] = "staircase"
    decay: float = Field(default=0.7, gt=0, le=1)  # of the staircase
    decay_steps: int = Field(default=950, ge=1, le=MOST_STEPS)
    power: float = Field(default=0.9, gt=0)  # of poly
    warmup_steps: int = Field(default=0, ge=0, le=MOST_STEPS)  # linear, before any schedule
    accumulate: int = Field(default=1, ge=1, le=LARGEST_BATCH)  # batches whose gradients make one step
    clip: float | None = Field(default=None, gt=0)  # largest norm of a gradient
    precision: Literal["32", "bf16", "64"] = "32"
    compile: bool = False  # the recorded segmenter: faster steps after a minute of compiling
    deterministic: bool = False  # on a GPU: the same seed gives the same bits; a CPU does so anyway
    graphs: bool = True  # CUDA graphs for the segmenter, where they change nothing but the speed
    accelerator: Literal["auto", "cpu", "cuda"] = "auto"  # auto: cuda or cpu, never MPS, which has no float64
    devices: int = Field(default=1, ge=1, le=MOST_PROCESSES)
    nodes: int = Field(default=1, ge=1, le=MOST_PROCESSES)
    workers: int | None = Field(default=None, ge=0, le=MOST_PROCESSES)  # loader processes; None: by the number of cores
    augment: AugmentConfig = AugmentConfig()
    checkpoint_every: int = Field(default=500, ge=1, le=MOST_STEPS)  # steps
    log_every: int = Field(default=10, ge=1, le=MOST_STEPS)
    loggers: tuple[Literal["tensorboard", "mlflow", "wandb"], ...] = ("tensorboard",)  # beside metrics.csv

    @field_validator("precision", mode="before")
    @classmethod
    def _plain_number(cls, value: object) -> object:
        """YAML reads `precision: 32` as a number, and nobody should have to write quotes."""
        return str(value) if isinstance(value, int) else value

    @field_validator("loggers", mode="before")
    @classmethod
    def _one_or_none(cls, value: object) -> object:
        """`mlflow` alone, and true or false, which said whether TensorBoard is written."""
        if isinstance(value, bool):
            return ["tensorboard"] if value else []
        return [value] if isinstance(value, str) else value
