"""CBST: Zou, Yu, Vijaya Kumar, Wang, "Unsupervised Domain Adaptation for Semantic Segmentation via Class-Balanced
Self-Training", ECCV 2018.

Faithful: a trained source model, then rounds of labelling the whole target set and training on source and labels at a
constant rate, a fifth of the source model's; one threshold a class, so that the same portion of each class's
predictions is labelled, 20 % at first and 5 % more each round, up to 50 %; a label goes to the class with the largest
ratio of probability to threshold, and only above 1; labels come from the mean prediction over image and mirror image.
Designed here: the source model is the first half of the experiment's epochs, under the experiment's schedule run to its
end, so that all rows have the same number of steps; both predictions are averaged at the network's own resolution; in a
task with tags the classifier learns those of both domains from the first step on, as in every system here (without
tags the source model never sees a target image).  `normals`: target images tagged normal are labelled normal all over.
`tags`: and images tagged lesion show one somewhere, by a small multiple-instance term that is silent once they do.
Left out: the spatial prior (made for street scenes), the mining of small classes, and the portion of source images.
"""

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor

from endotransfer.batch import Batch, TargetBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.supervised_terms import missed_term, source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Stage
from endotransfer.pseudo_labels.flip_average import flip_averaged
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
    source_share: float = Field(0.5, ge=0, lt=1)  # of all epochs, before the first labels; one at least is for rounds
    round_lr_scale: float = Field(0.2, gt=0)  # of the learning rate, constant in the rounds
    epochs_per_round: int = Field(2, ge=1)
    portion_start: float = Field(0.2, gt=0, le=1)
    portion_step: float = Field(0.05, ge=0, le=1)  # a round
    portion_stop: float = Field(0.5, gt=0, le=1)
    tag_rule: Literal["none", "veto", "fill_normal"] = "none"
    missed_weight: float = Field(0.0, ge=0)  # of the loss on images tagged lesion that show none


class CBST(Method):
    name = "cbst"
    summary = "class-balanced self-training: rounds of pseudo-labels, the same portion of each class"
    presets: ClassVar[dict[str, RawConfig]] = {
        "default": {},
        "normals": {"tag_rule": "fill_normal"},
        "tags": {"tag_rule": "fill_normal", "missed_weight": 0.03},
    }
    revision = 2
    records_steps = True
    Config: ClassVar[type[Strict]] = CBSTConfig
    config: CBSTConfig

    def stages(self) -> list[Stage]:
        config, task = self.config, self.task
        source_epochs = task.epochs_for(config.source_share)
        stages = [
            Stage("source", source_epochs, target=task.tags, own_schedule=True),
            Stage(
                "rounds", task.epochs - source_epochs, target_pass=True, pass_every=config.epochs_per_round,
                lr_scale=config.round_lr_scale, constant_lr=True,
            ),
        ]  # fmt: skip
        return [stage for stage in stages if stage.epochs]

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        config = self.config
        round_number = self.progress.stage_epoch // config.epochs_per_round
        share = portion(round_number, config.portion_start, config.portion_step, config.portion_stop)
        summary = label_target_set(
            flip_averaged(self.predict_target), target, self.task.classes, share, rules=TAG_RULES[config.tag_rule],
            device=self.device,
        )  # fmt: skip
        return summary.figures()

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None
        if target is None:  # the source model, without tags
            return source_terms(source, self.segmenter(source.images, domain="source"))
        on_source, on_target = self.forward_both(source.images, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        if target.stored is None:  # the source model, with tags
            return terms
        return terms | self.terms_of_labels(target, on_target.at(target.images.shape[-2:]))

    def terms_of_labels(self, target: TargetBatch, logits: Tensor) -> dict[str, Tensor]:
        """What labels, and beside them tags, say of the target's pixels: logits [B, K, H, W] at the images' size."""
        assert target.stored is not None
        terms = {"segmentation_target": segmentation(logits, target.stored)}
        return terms | missed_term(self.config.missed_weight, target, logits)
