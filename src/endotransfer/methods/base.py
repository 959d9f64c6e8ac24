"""What a method is: its networks, its stages and its losses.  The engine does the rest.

A method is one file in this folder: subclass `Method`, give it a `name`, a `summary`, a `Config` and `losses`.
Subclassing registers it; `endotransfer methods` lists it and the contract tests run it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import torch
from pydantic import ValidationError
from torch import Tensor, nn
from torch.optim import Optimizer

from endotransfer.batch import Batch, SegOutput, SourceBatch
from endotransfer.config import ModelConfig, Strict, explain
from endotransfer.errors import ConfigError
from endotransfer.models.segmenters.segmenter import Segmenter, build_segmenter
from endotransfer.pseudo_labels.label_target_set import TargetSet
from endotransfer.registry import Registry

METHODS: Registry[type["Method"]] = Registry("method", "endotransfer.methods")


@dataclass(frozen=True)
class TaskInfo:
    """All that a method may know of the experiment around it."""

    classes: int
    tags: bool  # False: no image of this experiment carries a tag, and no network has S1
    model: ModelConfig
    epochs: int


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


@dataclass(frozen=True)
class Progress:
    """Where training stands; set by the engine before every step and pass."""

    step: int = 0  # since the start of the run
    epoch: int = 0
    stage: str = ""
    stage_epoch: int = 0  # since the start of the stage
    steps: int = 1  # of the whole run


@dataclass(frozen=True)
class Needs:
    """What an experiment must have for this method to be itself; otherwise it is refused by name."""

    target: bool = True
    tags: bool = False
    masks_of_target: bool = False  # only an upper bound may say so
    live_statistics: bool = False  # BatchNorm that is allowed to move; see `check_needs`
    superpixels: bool = False  # in training batches; a target pass can always ask for them


class SourceSet(Protocol):
    """The source images that carry masks, whole and unaugmented, in small batches; every process sees all of them."""

    def __iter__(self) -> Iterator[SourceBatch]: ...
    def __len__(self) -> int: ...  # images


DomainName = Literal["source", "target"]
Memo = dict[str, Any]  # one step's outputs, so that a later phase needs no second forward


class Method(nn.Module):
    """Base of every system; only `losses` must be written.  An `nn.Module`, so that its state is in `state_dict`."""

    name: ClassVar[str]
    summary: ClassVar[str]  # one line for `endotransfer methods`
    presets: ClassVar[dict[str, dict[str, Any]]] = {"default": {}}  # first: what you get without asking
    variants: ClassVar[dict[str, dict[str, Any]]] = {}  # rows of an ablation: values laid over a preset's
    needs: ClassVar[Needs] = Needs()
    phases: ClassVar[dict[str, tuple[str, ...]]] = {"net": ("segmenter",)}  # phase -> the networks it trains
    predict_as: ClassVar[DomainName] = "target"  # whose statistics prediction uses, where normalisation keeps two sets

    Config: ClassVar[type[Strict]] = Strict  # the method's own fields; a preset is a set of values for them

    segmenter: nn.Module

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            METHODS.add(cls.name, cls)

    def __init__(self, task: TaskInfo, config: Any) -> None:
        super().__init__()
        self.task = task
        self.config = config
        self.progress = Progress()
        for name, network in self.networks().items():
            self.add_module(name, network)

    # -- what a method may say ----------------------------------------------------------------------------------

    def networks(self) -> dict[str, nn.Module]:
        """Named modules; `segmenter` may be replaced by any module that returns `SegOutput`."""
        return {"segmenter": self.plain_segmenter()}

    def stages(self) -> list[Stage]:
        return [Stage("train", self.task.epochs, phases=tuple(self.phases), target=self.needs.target)]

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        """Statistics of the data before the first step, to be kept in buffers: a resumed run does not come here again.

        `target` holds this process's share of the images; sums over it go through `sum_over_processes`.
        """

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        """The weighted terms of this phase's objective, by name; the engine minimises their sum."""
        raise NotImplementedError

    def optimiser(self, phase: str) -> Optimizer | None:
        """An optimiser of the method's own for `phase`, where the shared one will not do."""
        return None

    def active(self, phase: str) -> bool:
        """Whether `phase` runs in this step (gates and delays)."""
        return True

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """Work over the whole target set before an epoch; returns figures for the log."""
        return {}

    def findings(self) -> dict[str, Any]:
        """What passes have found and the user should know, for results.json; sentences under `remarks` are said too.

        From state: a run that resumes must find the same.
        """
        return {}

    def kept_channels(self) -> int:
        """How many numbers `target_pass` keeps of every 8 x 8 pixels, so that its need of disk is known beforehand."""
        return self.task.classes

    def wants_superpixels(self) -> bool:
        """Whether `target_pass` will ask for super-pixels, so that they are computed in parallel beforehand."""
        return False

    def after_step(self) -> None:
        """State that follows the weights: teacher, moving averages."""

    def predictor(self) -> nn.Module:
        """The module that evaluation, prediction, export and the target pass use."""
        return self.segmenter

    # -- what methods share -------------------------------------------------------------------------------------

    def plain_segmenter(self) -> Segmenter:
        """The network that the experiment asks for, with S1 where there are tags."""
        task = self.task
        return build_segmenter(task.model, task.classes, task.tags)

    def forward_both(self, source: Tensor, target: Tensor) -> tuple[SegOutput, SegOutput]:
        """Both domains through the segmenter: in one go where no image's output depends on the others'.

        One forward of 4 + 4 images costs a GPU far less than two of 4.  Batch statistics must not mix domains.
        """
        # PAPER: batch normalisation over two domains is not mentioned; mixed statistics ruin training quietly.
        if self.task.model.norm not in ("frozen", "group"):
            return self.segmenter(source, domain="source"), self.segmenter(target, domain="target")
        both: SegOutput = self.segmenter(torch.cat([source, target]))
        return split_output(both, len(source))


def split_output(output: SegOutput, first: int) -> tuple[SegOutput, SegOutput]:
    """Cut an output after its first `first` images."""

    def part(span: slice) -> SegOutput:
        tags = None if output.tag_logits is None else output.tag_logits[span]
        aux = {name: values[span] for name, values in output.aux.items()}
        return SegOutput(output.logits[span], tags, output.features[span], aux)

    return part(slice(0, first)), part(slice(first, None))


def method_config(settings: dict[str, Any]) -> tuple[type[Method], str, Any]:
    """`{name, preset, variant, field: value...}` of an experiment -> the class, the preset's name, its checked config.

    A variant is laid over the preset, and fields over both.
    """
    fields = dict(settings)
    cls = METHODS.get(fields.pop("name", None))
    preset = fields.pop("preset", None)
    preset = next(iter(cls.presets)) if preset is None else preset
    variant = fields.pop("variant", None)
    values = _named("preset", preset, cls.presets, cls)
    values |= {} if variant is None else _named("variant", variant, cls.variants, cls)
    try:
        return cls, preset, cls.Config.model_validate(values | fields)
    except ValidationError as reason:
        raise ConfigError(f"method {cls.name}: {'; '.join(explain(reason, cls.Config))}") from None


def _named(kind: str, name: object, known: dict[str, dict[str, Any]], cls: type[Method]) -> dict[str, Any]:
    if not isinstance(name, str) or name not in known:
        raise ConfigError(f"method {cls.name} has no {kind} '{name}'; it has {', '.join(known) or 'none'}.")
    return dict(known[name])


def check_needs(cls: type[Method], model: ModelConfig) -> None:
    """Refuse a model that cannot give the method what it lives on.  (What it needs of the data, the data tell.)"""
    if cls.needs.live_statistics and model.norm in ("frozen", "group"):
        raise ConfigError(
            f"method {cls.name} needs batch statistics that move, and model.norm is {model.norm}; "
            "write `model.norm: batch` or `per_domain`."
        )
