"""FDA: Yang, Soatto, "FDA: Fourier Domain Adaptation for Semantic Segmentation", CVPR 2020.

Faithful: the low-frequency amplitudes of each source image are replaced by those of a target image, its phase is kept,
and the network trains on the result; a robust entropy (Charbonnier's penalty) asks for sure predictions on the target,
from half of the run on; bands of beta 0.01, 0.05 and 0.09; then one round of self-training on labels of the target:
predictions among the surest 66 % of their class, or above 0.9.
Designed here: one run is one network and as many steps as any other row's, where the original trains three networks
twice.  So the bands take turns, step by step, and one network sees them all; labels are made once, before the last
third of the epochs, and training goes on from there instead of starting anew.  Their mean prediction over three
networks becomes that over image and mirror image: views of a target image in the three bands would not do, since a band
is how SOURCE images are shown, and all three networks see the target as it is.  (66 % is the paper's; the published
code cuts at the 66th percentile, which keeps 34 %.)  The partner is a target image of the same batch, found by its
position: the streams are shuffled already; images are swapped after augmentation and clamped to [0, 1]; entropy is
taken at the network's own resolution; in a task with tags the classifier learns those of both domains, as in every
system here.  `single_band`: beta 0.01 alone, without labels, the paper's first step.  Small images: below 1 / beta
pixels a side (100 at 0.01) only the mean colour is swapped.
"""

from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.data.pipeline.fourier_swap import partners, swap_low_frequencies
from endotransfer.distributed import global_mean
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.entropy import self_information
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Stage
from endotransfer.pseudo_labels.flip_average import flip_averaged
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.target_set import TargetSet

PORTION, CERTAIN = 0.66, 0.9  # of each class's predictions that are labelled, and the probability that always is
SMALLEST = 1e-3  # keeps the penalty smooth at entropy 0


def robust_entropy(logits: Tensor, exponent: float) -> Tensor:
    """Mean over all pixels of (h^2 + 0.001^2)^exponent, h in [0, 1] the entropy of softmax(logits [B, K, h, w])."""
    entropy = self_information(logits).sum(1)
    penalty = (entropy**2 + SMALLEST**2) ** exponent
    return global_mean(penalty.sum(), penalty.new_full((), penalty.numel()))


class FDAConfig(Strict):
    # Half the side of the swapped square, as a share of the image's side; several take turns.
    betas: tuple[Annotated[float, Field(ge=0, le=0.5)], ...] = Field((0.01, 0.05, 0.09), min_length=1)
    entropy_weight: float = Field(0.005, ge=0)
    entropy_exponent: float = Field(2.0, gt=0)
    entropy_from: float = Field(0.5, ge=0, le=1)  # share of all steps that come before it
    label_share: float = Field(0.33, ge=0, lt=1)  # of all epochs, the last ones, on labels of the target; 0: none


class FDA(Method):
    name = "fda"
    summary = "Fourier domain adaptation: source images in the target's low frequencies, then labels of the target"
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}, "single_band": {"betas": (0.01,), "label_share": 0.0}}
    revision = 2
    Config: ClassVar[type[Strict]] = FDAConfig
    config: FDAConfig

    def stages(self) -> list[Stage]:
        labelled = self.task.epochs_for(self.config.label_share)
        style = Stage("style", self.task.epochs - labelled)
        return [style, Stage("labels", labelled, target_pass=True, pass_every=labelled)] if labelled else [style]

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        predict = flip_averaged(self.predict_target)
        return label_target_set(
            predict, target, self.task.classes, PORTION, certain=CERTAIN, device=self.device
        ).figures()  # fmt: skip

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(self.in_target_style(source, target), target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        if target.stored is not None:
            terms["segmentation_target"] = segmentation(on_target.at(target.images.shape[-2:]), target.stored)
        if self.config.entropy_weight and self.progress.step >= self.config.entropy_from * self.progress.steps:
            penalty = robust_entropy(on_target.logits, self.config.entropy_exponent)
            terms["entropy_target"] = self.config.entropy_weight * penalty
        return terms

    @property
    def beta(self) -> float:
        """This step's band.  In turn, not drawn: every process must take the same."""
        return self.config.betas[self.progress.step % len(self.config.betas)]

    def in_target_style(self, source: SourceBatch, target: TargetBatch) -> Tensor:
        """The source images [B, 3, H, W], each with the low frequencies of its partner in the batch."""
        masked = len(source.masks)
        pairs = partners(masked, len(source.images) - masked, len(target.images))
        # Stacked, not indexed: a list of numbers copied to a GPU would make the host wait.
        styles = torch.stack([target.images[index] for index in pairs])
        return swap_low_frequencies(source.images, styles, self.beta)
