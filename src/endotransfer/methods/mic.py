"""MIC: Hoyer, Dai, Wang, Van Gool, "MIC: Masked Image Consistency for Context-Enhanced Domain Adaptation", CVPR 2023.
With most of a target image hidden, the network predicts what the teacher says of the whole: it learns to use context.

Faithful: blocks hidden with probability 0.7 each, in colour-jittered target images; the teacher's hard label of the
whole image, weighted by the share of its pixels of which the teacher is sure; weight 1; on top of a self-training
method with the same teacher, which is DACS here.
Designed here: a block's side is an eighth of the image's (32 pixels at 256): a share, so that small images have blocks
too; the authors' is a sixteenth of a crop that is four times as large.  Hidden pixels take the colour that the network
knows as 0, the mean of ImageNet.  The rest is what the file of DACS says, which this one extends.
"""

from typing import ClassVar

import torch
from pydantic import Field

from endotransfer.batch import SourceBatch
from endotransfer.config import Strict
from endotransfer.data.pipeline.block_mask import block_grid, hidden_blocks
from endotransfer.methods.dacs import Dacs, DacsConfig
from endotransfer.models.generators.image_noise import like, uniform_noise
from endotransfer.pseudo_labels.mixed_lesson import Lesson


class MicConfig(DacsConfig):
    masked_weight: float = Field(1.0, gt=0)
    ratio: float = Field(0.7, gt=0, lt=1)  # of blocks that are hidden
    block: float = Field(0.125, gt=0, le=1)  # side of a block, as a share of the image's shorter side


class Mic(Dacs):
    name = "mic"
    summary = "MIC: DACS, and target images of which most is hidden are to be predicted as the teacher sees them whole"
    Config: ClassVar[type[Strict]] = MicConfig
    config: MicConfig

    def lessons(self, source: SourceBatch, labelled: Lesson, keys: list[str]) -> dict[str, Lesson]:
        masked = self.masked(labelled, keys).times(self.config.masked_weight)
        return super().lessons(source, labelled, keys) | {"masked": masked}

    @torch.no_grad()
    def masked(self, labelled: Lesson, keys: list[str]) -> Lesson:
        """The target's images with blocks hidden, under the labels of the whole."""
        images = self.strongly(labelled.images, "masked", keys)
        size = images.shape[-2:]
        names = [f"masked {key}" for key in keys]  # other numbers than the mixture of the same image
        noise = like(uniform_noise(names, self.progress.step, block_grid(size, self.config.block)), images)
        hidden = hidden_blocks((noise.squeeze(1) + 1) / 2, size, self.config.ratio)
        return Lesson(images.where(~hidden.unsqueeze(1), self.segmenter.mean), labelled.labels, labelled.weights)
