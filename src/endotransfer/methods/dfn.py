"""DFN: Yu, Wang, Peng, Gao, Yu, Sang, "Learning a Discriminative Feature Network for Semantic Segmentation", CVPR
2018.  A smooth network keeps classes whole by channel attention, a border network keeps them apart by their borders.
AN ARCHITECTURE CONTROL: nothing in DFN looks at a target.  Its row says what another network makes of the same source
masks and tags, and is to be read beside source_only, not beside systems that adapt.

Faithful: plain strides without dilation, refinement and channel attention blocks, the start from the image's mean,
512 and 21 channels, cross-entropy at four levels, 0.1 times a focal loss (gamma 2, alpha 0.25) on borders at four, all
summed; its new layers learn ten times as fast as the backbone.
Designed here: as in every system S1 learns the tags of both domains, and refines the last logits.  Borders come from
label changes instead of a Canny filter, which finds the same in a mask; the focal loss is the standard one;
normalisation, optimiser and schedule are the experiment's, and shorter than the original's 120 epochs: `head_lr_factor`
and `border_weight` are the settings to search.
Left out: scales and crops of its training (the experiment's augmentation).
"""

from typing import ClassVar

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.batch import Batch, SegOutput, SourceBatch
from endotransfer.config import Strict
from endotransfer.losses.borders import border_targets
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.focal import focal_loss
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.models.segmenters.dfn_segmenter import build_dfn_segmenter


class DfnConfig(Strict):
    smooth_channels: int | None = Field(None, ge=1)  # None: twice model.aspp_channels, 512 with its default
    border_channels: int = Field(21, ge=1)
    head_lr_factor: float | None = Field(10.0, gt=0)  # of all but the backbone; None: the experiment's
    border_weight: float = Field(0.1, gt=0)
    border_width: int = Field(7, ge=1)  # pixels, odd
    focal_gamma: float = Field(2.0, ge=0)
    focal_alpha: float = Field(0.25, gt=0, lt=1)

    @field_validator("border_width")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("a square around a pixel has an odd side; write for example 7")
        return value


class Dfn(Method):
    name = "dfn"
    summary = "DFN, an architecture control: a smooth network with channel attention and a border network, source masks"
    Config: ClassVar[type[Strict]] = DfnConfig
    config: DfnConfig

    def networks(self) -> dict[str, nn.Module]:
        task, config = self.task, self.config
        channels = config.smooth_channels or 2 * task.model.aspp_channels
        segmenter = build_dfn_segmenter(task.model, channels, config.border_channels, task.classes, task.tags)
        return {"segmenter": segmenter}

    def head_lr_factor(self) -> float | None:
        return self.config.head_lr_factor

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        return terms | self._deeper_terms(source, on_source) | self._border_term(source, on_source)

    def _deeper_terms(self, source: SourceBatch, output: SegOutput) -> dict[str, Tensor]:
        """Cross-entropy at the three levels that do not predict."""
        levels = {name: values for name, values in output.aux.items() if name.startswith("level_")}
        return {
            f"segmentation_source_{name}": segmentation(_at_masks(values, source.masks), source.masks)
            for name, values in levels.items()
        }

    def _border_term(self, source: SourceBatch, output: SegOutput) -> dict[str, Tensor]:
        """The focal loss at the four levels of the border network, summed."""
        config = self.config
        targets = border_targets(source.masks, config.border_width)
        levels = _at_masks(output.aux["borders"], source.masks).unbind(1)
        losses = [focal_loss(level, targets, config.focal_gamma, config.focal_alpha) for level in levels]
        return {"border_source": config.border_weight * torch.stack(losses).sum()}


def _at_masks(values: Tensor, masks: Tensor) -> Tensor:
    """Maps [B, C, h, w] of the first images, which carry the masks [M, H, W], at their size: [M, C, H, W]."""
    return interpolate(values[: len(masks)], size=masks.shape[-2:], mode="bilinear", align_corners=False)
