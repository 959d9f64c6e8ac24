"""What a method is: its networks, its stages and its losses.  The engine does the rest.

A method is one file in this folder: subclass `Method`, give it a `name`, a `summary`, a `Config` and `losses`.
Subclassing registers it; `endotransfer methods` lists it and the contract tests run it.
"""

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from endotransfer.batch import Batch, SegOutput, SourceSet
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.cross_entropy import Reduction
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.task import Needs, Progress, Stage, TaskInfo
from endotransfer.models.mean_teacher import MeanTeacher
from endotransfer.models.segmenters.segmenter import Segmenter, build_segmenter
from endotransfer.pseudo_labels.target_set import TargetSet
from endotransfer.registry import Registry

METHODS: Registry[type["Method"]] = Registry("method", "endotransfer.methods")
DomainName = Literal["source", "target"]
Memo = dict[str, Any]  # one step's outputs, so that a later phase needs no second forward


class Method(nn.Module):
    """Base of every system; only `losses` must be written.  An `nn.Module`, so that its state is in `state_dict`."""

    name: ClassVar[str]
    summary: ClassVar[str]  # one line for `endotransfer methods`
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}}  # first: what you get without asking
    variants: ClassVar[dict[str, RawConfig]] = {}  # rows of an ablation: values laid over a preset's
    needs: ClassVar[Needs] = Needs()
    revision: ClassVar[int] = 1  # count it up where the same settings train something else: old results are out
    proposed: ClassVar[bool] = False  # a method of this project, not one it is compared with; reports always show it
    phases: ClassVar[dict[str, tuple[str, ...]]] = {"net": ("segmenter",)}  # phase -> the networks it trains
    # Whether a GPU may replay whole steps from a recording: within a stage nothing in `losses` changes but tensors,
    # state is changed in place, and the host never waits.  Not inherited: each class says so for itself.
    records_steps: ClassVar[bool] = False
    predict_as: ClassVar[DomainName] = "target"  # whose statistics prediction uses, where normalisation keeps two sets

    Config: ClassVar[type[Strict]] = Strict  # the method's own fields; a preset is a set of values for them

    segmenter: nn.Module
    teacher: MeanTeacher | None  # a method's own, or the one that the experiment gives to every method

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            METHODS.add(cls.name, cls)

    def __init__(self, task: TaskInfo, config: Any) -> None:
        super().__init__()
        self.task = task
        self.config = config
        self.progress = Progress()
        self.register_module("teacher", None)
        for name, network in self.networks().items():
            self.add_module(name, network)
        if self.teacher is None and task.mean_teacher is not None and self.phases:  # where anything is trained
            self.teacher = MeanTeacher(self.segmenter, task.mean_teacher)

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

    def head_lr_factor(self) -> float | None:
        """What multiplies the learning rate of all that is not backbone; None: the experiment's `head_lr_factor`."""
        return None

    def active(self, phase: str) -> bool:
        """Whether `phase` runs in this step (gates and delays)."""
        return True

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """Work over the whole target set before an epoch; returns figures for the log."""
        return {}

    def figures(self, memo: Memo) -> dict[str, Tensor]:
        """What a step shows beyond its losses, as single numbers for the log, from what its phases left in `memo`.

        Asked only in steps that are logged; means over batches and processes are written as `figure/NAME`.
        """
        return {}

    def findings(self) -> dict[str, object]:
        """What passes have found and the user should know, for results.json; sentences under `remarks` are said too.

        From state: a run that resumes must find the same.
        """
        return {}

    def wants_superpixels(self) -> bool:
        """Whether `target_pass` will ask for super-pixels, so that they are computed in parallel beforehand."""
        return False

    def after_step(self) -> None:
        """State that follows the weights: the teacher, where there is one, and moving averages."""
        if self.teacher is not None:
            self.teacher.update(self.segmenter, self.progress.step)

    def predictor(self) -> nn.Module:
        """The module that evaluation, prediction, export and the target pass use."""
        return self.segmenter if self.teacher is None else self.teacher.module

    # -- what methods share -------------------------------------------------------------------------------------

    def plain_segmenter(self) -> Segmenter:
        """The network that the experiment asks for, with S1 where there are tags."""
        task = self.task
        return build_segmenter(task.model, task.classes, task.tags)

    def supervised_terms(self, batch: Batch, reduction: Reduction = "mean") -> dict[str, Tensor]:
        """Equations 2 and 3 on all that is known of both domains, and nothing that transfers: a warm-up's objective."""
        source, target = batch.source, batch.target
        assert source is not None
        if target is None:
            return source_terms(source, self.segmenter(source.images, domain="source"), reduction=reduction)
        on_source, on_target = self.forward_both(source.images, target.images)
        return source_terms(source, on_source, reduction=reduction) | target_tag_term(target, on_target)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def predict_target(self, images: Tensor) -> SegOutput:
        """What the predictor says of target images [B, 3, H, W]."""
        output: SegOutput = self.predictor()(images, domain="target")
        return output

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
