"""CBST: Zou, Yu, Vijaya Kumar, Wang, "Unsupervised Domain Adaptation for Semantic Segmentation via Class-Balanced
Self-Training", ECCV 2018.

Faithful: rounds of labelling the whole target set and training on source and labels; one threshold a class, so that the
same portion of each class's predictions is labelled, 20 % at first and 5 % more each round, up to 50 %; a label goes to
the class with the largest ratio of probability to threshold, and only above 1.
Designed: a warm-up on the source gives the first labels; in a task with tags the classifier learns those of both
domains, as in every system here; `tags` also lets them correct the labels and supervise pixels, for a fair comparison
with methods that do.
Left out: the spatial prior (made for street scenes), the mining of small classes, and the portion of source images.
"""

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor

from endotransfer.batch import Batch, SegOutput, TargetBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.supervised_terms import pixel_tag_term, source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Stage
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.portion import portion
from endotransfer.pseudo_labels.rules import LabelRule, TagRule
from endotransfer.pseudo_labels.target_set import TargetSet

TAG_RULES: dict[str, list[LabelRule]] = {
    "none": [],
    "veto": [TagRule(fill_normal=False)],
    "fill_normal": [TagRule(fill_normal=True)],
}


class CBSTConfig(Strict):
    warmup_epochs: int = Field(1, ge=0)  # on the source alone
    epochs_per_round: int = Field(2, ge=1)
    portion_start: float = Field(0.2, gt=0, le=1)
    portion_step: float = Field(0.05, ge=0, le=1)  # a round
    portion_stop: float = Field(0.5, gt=0, le=1)
    tag_rule: Literal["none", "veto", "fill_normal"] = "none"
    tag_weight: float = Field(0.0, ge=0)  # of pixels supervised by tags


class CBST(Method):
    name = "cbst"
    summary = "class-balanced self-training: rounds of pseudo-labels, the same portion of each class"
    presets: ClassVar[dict[str, RawConfig]] = {
        "default": {},
        "tags": {"tag_rule": "fill_normal", "tag_weight": 0.5},
    }
    Config: ClassVar[type[Strict]] = CBSTConfig
    config: CBSTConfig

    def stages(self) -> list[Stage]:
        warmup = min(self.config.warmup_epochs, self.task.epochs - 1)
        rounds = Stage(
            "rounds", self.task.epochs - warmup, target_pass=True, pass_every=self.config.epochs_per_round
        )  # fmt: skip
        return [Stage("warm-up", warmup, target=False), rounds] if warmup else [rounds]

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        config = self.config
        round_number = self.progress.stage_epoch // config.epochs_per_round
        share = portion(round_number, config.portion_start, config.portion_step, config.portion_stop)
        summary = label_target_set(
            self.predict_target, target, self.task.classes, share, rules=TAG_RULES[config.tag_rule], device=self.device,
        )  # fmt: skip
        return summary.figures()

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None
        if target is None:  # warm-up
            return source_terms(source, self.segmenter(source.images, domain="source"))
        on_source, on_target = self.forward_both(source.images, target.images)
        return source_terms(source, on_source) | self._target_terms(target, on_target)

    def _target_terms(self, target: TargetBatch, output: SegOutput) -> dict[str, Tensor]:
        assert target.stored is not None
        logits = output.at(target.images.shape[-2:])
        terms = {"segmentation_target": segmentation(logits, target.stored), **target_tag_term(target, output)}
        return terms | pixel_tag_term(self.config.tag_weight, target, logits)
