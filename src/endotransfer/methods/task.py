"""What a method knows of the experiment around it, and the words in which it states its plan."""

from dataclasses import dataclass, replace

from endotransfer.config import ModelConfig

WARM_UP = "warm-up"  # the stage before anything is transferred


@dataclass(frozen=True)
class TaskInfo:
    """All that a method may know of its experiment."""

    classes: int
    tags: bool  # False: no image of this experiment carries a tag, and no network has S1
    model: ModelConfig
    epochs: int
    mean_teacher: float | None = None  # momentum of the teacher that predicts in place of the segmenter; None: none

    def epochs_for(self, share: float) -> int:
        """The number of epochs nearest to `share` of all; at least one is left for the rest."""
        return min(round(share * self.epochs), self.epochs - 1)


@dataclass(frozen=True)
class Stage:
    """A stretch of training.  The checkpoint knows the stage by its name.

    A stage without phases trains nothing (AdaBN re-estimates statistics in its target pass); it takes a single step.
    """

    name: str
    epochs: int
    phases: tuple[str, ...] = ("net",)
    target: bool = True  # batches carry target images
    target_pass: bool = False  # the whole target set is visited before the first epoch
    pass_every: int = 1  # and again after so many
    own_schedule: bool = False  # the learning rate runs over this stage alone, and elsewhere as if it were not there
    lr_scale: float = 1.0  # what every learning rate is multiplied with, on top of its schedule
    constant_lr: bool = False  # instead of a schedule; elsewhere the rate runs as if this stage were not there
    steps: int | None = None  # of an epoch; None: as many as the experiment's epochs have
    recordable: bool = True  # False: its steps draw numbers on the host, which a recording would repeat


def after_warm_up(warmup: int, stage: Stage, tags: bool) -> list[Stage]:
    """`stage` with the first `warmup` of its epochs given to a warm-up, which never takes all of them.

    Nothing is transferred in it, but S1 learns the `tags` of both domains, so that every system knows a normal image
    from one with a lesion before it labels or aligns anything.
    """
    warmup = min(warmup, stage.epochs - 1)
    rest = replace(stage, epochs=stage.epochs - warmup)
    return [Stage(WARM_UP, warmup, target=tags), rest] if warmup else [rest]


def after_warm_up_share(share: float, stage: Stage, tags: bool) -> list[Stage]:
    """The same with a `share` of the epochs, and at least one unless the share is 0."""
    return after_warm_up(max(1, round(share * stage.epochs)) if share else 0, stage, tags)


@dataclass(frozen=True)
class Progress:
    """Where training stands; set by the engine before every step and pass."""

    step: int = 0  # since the start of the run
    epoch: int = 0
    stage: str = ""
    stage_epoch: int = 0  # since the start of the stage
    steps: int = 1  # of the whole run
    stage_step: int = 0  # since the start of the stage
    stage_steps: int = 1  # of the whole stage

    @property
    def stage_done(self) -> float:
        """The share of the stage that lies behind, 0 at its first step: what ramps and late starts go by."""
        return self.stage_step / self.stage_steps


@dataclass(frozen=True)
class Needs:
    """What an experiment must have for a method to be itself; otherwise it is refused by name."""

    target: bool = True
    tags: bool = False
    masks_of_target: bool = False  # only an upper bound may say so
    live_statistics: bool = False  # BatchNorm that is allowed to move; see `check_needs`
    superpixels: bool = False  # in training batches; a target pass can always ask for them
    rare_class_temperature: float | None = None  # masked source images are drawn by class, rare ones most
    warmup_share: float = 0.0  # of all steps, in which the learning rate rises; an experiment's own warm-up goes before
