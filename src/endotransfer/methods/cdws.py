"""CDWS: Jia, Huang, Chang, Xu, "Constrained Deep Weak Supervision for Histopathology Image Segmentation", IEEE TMI
2017.  Lesion maps at three depths and their mixture learn from image tags (multiple-instance learning) and lesion size.

Faithful: sigmoid maps at three depths, up-sampled to the image; the generalised mean (r = 4) as an image's score; the
area constraint on positive images, its weights by depth, the fixed mixture, and no pixel label in preset `default`.
Designed here: the area of an image without a mask is the mean lesion area of the source masks that show a lesion, since
nobody states one; both domains have their own means of each term; the shared backbone in place of VGG, and S1 on its
last stage as in every system, which refines the prediction but none of the maps that are trained.  Preset `masks`
adds the pixel loss on source masks, which the systems beside it have too.
Left out: optimiser and schedule (the experiment's).
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from endotransfer.batch import LESION, Batch, SegOutput, SourceBatch, SourceSet
from endotransfer.config import RawConfig, Strict
from endotransfer.errors import ConfigError
from endotransfer.losses.cross_entropy import classification, segmentation
from endotransfer.losses.supervised_terms import target_tag_term
from endotransfer.losses.weak_lesion import area_loss, lesion_fractions, log_generalised_mean, mil_loss
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Needs, TaskInfo
from endotransfer.models.segmenters.cdws_segmenter import build_cdws_segmenter
from endotransfer.pseudo_labels.target_set import TargetSet


class CdwsConfig(Strict):
    exponent: float = Field(4.0, ge=1)  # r of the generalised mean
    area_weights: tuple[float, float, float, float] = (2.5, 5.0, 10.0, 10.0)  # three depths, shallow to deep; mixture
    masks: float = Field(0.0, ge=0)  # weight of the pixel loss on source masks


class Cdws(Method):
    name = "cdws"
    summary = "CDWS: lesion maps at three depths, learnt from image tags and lesion size alone"
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}, "masks": {"masks": 1.0}}
    needs = Needs(tags=True)
    Config: ClassVar[type[Strict]] = CdwsConfig
    config: CdwsConfig
    mean_area: Tensor

    def __init__(self, task: TaskInfo, config: CdwsConfig) -> None:
        super().__init__(task, config)
        self.register_buffer("mean_area", torch.zeros(()))

    def networks(self) -> dict[str, nn.Module]:
        if self.task.classes != 2:
            raise ConfigError(
                f"method cdws tells lesion from normal, and the data have {self.task.classes} classes; "
                "choose another method, or give classes.yaml two."
            )
        return {"segmenter": build_cdws_segmenter(self.task.model)}

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        """The mean lesion area of the source masks that show a lesion."""
        fractions = torch.cat([lesion_fractions(batch.masks)[0] for batch in source])
        self.mean_area.copy_(fractions.sum() / (fractions > 0).sum().clamp(min=1))

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and source.tags is not None and target is not None and target.tags is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        assert on_source.tag_logits is not None
        terms = self.weak_terms("source", on_source, source.tags, self.areas(source))
        terms |= self.weak_terms("target", on_target, target.tags, self.mean_area.expand(len(target.images)))
        terms["classification_source"] = classification(on_source.tag_logits, source.tags)
        if self.config.masks:
            masked = on_source.logits[: len(source.masks)]
            terms["segmentation_source"] = self.config.masks * segmentation(masked, source.masks)
        return terms | target_tag_term(target, on_target)

    def areas(self, source: SourceBatch) -> Tensor:
        """The lesion area [B] of each image: its mask's, where it has one."""
        annotated, known = lesion_fractions(source.masks)
        annotated = torch.where(known, annotated.to(self.mean_area.dtype), self.mean_area)
        return torch.cat([annotated, self.mean_area.expand(len(source.images) - len(source.masks))])

    def weak_terms(self, domain: str, output: SegOutput, tags: Tensor, areas: Tensor) -> dict[str, Tensor]:
        """What tags and areas say of the maps at three depths and of their mixture."""
        depths = logsigmoid(output.aux["depths"])
        log_p = torch.cat([depths, output.aux["fused"][:, LESION:]], dim=1)
        return {
            f"mil_{domain}": mil_loss(log_generalised_mean(log_p, self.config.exponent), tags),
            f"area_{domain}": area_loss(log_p, tags, areas, self.config.area_weights),
        }
