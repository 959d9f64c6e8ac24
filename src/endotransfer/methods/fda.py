"""FDA: Yang, Soatto, "FDA: Fourier Domain Adaptation for Semantic Segmentation", CVPR 2020.

Faithful: the low-frequency amplitudes of each source image are replaced by those of a target image, its phase is kept,
and the network trains on the result; a robust entropy (Charbonnier's penalty) asks for sure predictions on the target.
Designed: the partner is a target image of the same batch, found by position: the streams are shuffled already, and no
further random numbers are needed; images are swapped after augmentation and clamped to [0, 1]; entropy is taken at the
network's own resolution, from the first step on; in a task with tags the classifier learns those of both domains, as
in every system here.
Left out: the second round, in which the averaged predictions of three models (beta 0.01, 0.05, 0.09) become
pseudo-labels.  Small images: below 1 / beta pixels a side (100 at 0.01) only the mean colour is swapped.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.config import Strict
from endotransfer.data.pipeline.fourier_swap import partners, swap_low_frequencies
from endotransfer.distributed import global_mean
from endotransfer.losses.entropy import self_information
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method

SMALLEST = 1e-3  # keeps the penalty smooth at entropy 0


def robust_entropy(logits: Tensor, exponent: float) -> Tensor:
    """Mean over all pixels of (h^2 + 0.001^2)^exponent, h in [0, 1] the entropy of softmax(logits [B, K, h, w])."""
    entropy = self_information(logits).sum(1)
    penalty = (entropy**2 + SMALLEST**2) ** exponent
    return global_mean(penalty.sum(), penalty.new_full((), penalty.numel()))


class FDAConfig(Strict):
    beta: float = Field(0.01, ge=0, le=0.5)  # half the side of the swapped square, as a share of the image's side
    entropy_weight: float = Field(0.005, ge=0)
    entropy_exponent: float = Field(2.0, gt=0)


class FDA(Method):
    name = "fda"
    summary = "Fourier domain adaptation: source images in the target's low frequencies, sure predictions on the target"
    Config: ClassVar[type[Strict]] = FDAConfig
    config: FDAConfig

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(self.in_target_style(source, target), target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        if self.config.entropy_weight:
            penalty = robust_entropy(on_target.logits, self.config.entropy_exponent)
            terms["entropy_target"] = self.config.entropy_weight * penalty
        return terms

    def in_target_style(self, source: SourceBatch, target: TargetBatch) -> Tensor:
        """The source images [B, 3, H, W], each with the low frequencies of its partner in the batch."""
        masked = len(source.masks)
        pairs = partners(masked, len(source.images) - masked, len(target.images))
        # Stacked, not indexed: a list of numbers copied to a GPU would make the host wait.
        styles = torch.stack([target.images[index] for index in pairs])
        return swap_low_frequencies(source.images, styles, self.config.beta)
