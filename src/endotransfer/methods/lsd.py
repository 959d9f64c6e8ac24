"""LSD: Sankaranarayanan, Balaji, Jain, Lim, Chellappa, "Learning from Synthetic Data: Addressing Domain Shift for
Semantic Segmentation", CVPR 2018.  Features are decoded back to images, and are to give away no domain in them.

Faithful: three networks.  D tells four cases apart (source or target, real or decoded) and segments the source; G
decodes features so that D takes the image for a real one of its own domain; F, the segmenter, makes D take it for one
of the other domain.  All terms, G's channels and InstanceNorm, the optimisers of G and D; F starts from ImageNet.
Designed here: the shared DeepLab-v3, whose optimiser is the experiment's; G begins with the ASPP's features at 1/8, so
it doubles three times; the depth of D; F goes first, so that one forward of it serves all three.  Where images carry
tags, S1 learns from those of both domains.  Every term is a mean, with the original's factors.  There they multiply
sums: the task's over pixels and D's over cells of 8 x 8 of them, so that its 0.1 is 0.1 / 64 of a mean in F, and its
L1, a mean, is next to nothing in G.  Both would idle in a short run; `weight` is the setting to search (0.0016 to 1).
Left out: the two skips into G, by which FCN-8s gets from 1/32 to 1/8, where the shared network's features stand.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SourceBatch
from endotransfer.config import Strict
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.provenance import Provenance, absolute_error, taken_for
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.models.generators.reconstruction import ImageDecoder, ReconstructionCritic


class LsdConfig(Strict):
    """Weights of F's and G's terms; D's are all 1."""

    weight: float = Field(0.1, gt=0)  # F: decoded images taken for real ones of the other domain
    weight_classes: float = Field(0.1, gt=0)  # F: D's segmentation of decoded source images
    weight_real: float = Field(0.1, gt=0)  # G: decoded images taken for real ones of their own domain
    weight_reconstruction: float = Field(1.0, gt=0)  # G: L1 distance of decoded images
    lr: float = Field(1e-4, gt=0)  # of G and D
    width: int | None = Field(None, ge=2)  # of G, twice that of D; None: as many as the features have (256)


class Lsd(Method):
    name = "lsd"
    summary = "LSD: features decoded to images must not show a four-way critic their domain"
    phases: ClassVar[dict[str, tuple[str, ...]]] = {
        "net": ("segmenter",), "critic": ("critic",), "generator": ("generator",),
    }  # fmt: skip
    Config: ClassVar[type[Strict]] = LsdConfig
    config: LsdConfig
    generator: ImageDecoder
    critic: ReconstructionCritic

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        width = self.config.width or segmenter.feature_channels
        decoder = ImageDecoder(segmenter.feature_channels, width)
        critic = ReconstructionCritic(len(Provenance), self.task.classes, max(width // 2, 1))
        return {"segmenter": segmenter, "generator": decoder, "critic": critic}

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase == "net":
            return None
        return Adam(self.get_submodule(phase).parameters(), lr=self.config.lr, betas=(0.7, 0.999))

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        match phase:
            case "critic":
                return self._critic_terms(batch, memo)
            case "generator":
                return self._generator_terms(batch, memo)
            case _:
                return self._segmenter_terms(batch, memo)

    def _segmenter_terms(self, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        """F: the task; decoded images taken for the other domain's; `memo` keeps features and images for D and G."""
        source, target, config = batch.source, batch.target, self.config
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        features = torch.cat([on_source.features, on_target.features])
        decoded = self.generator(features, source.images.shape[-2:])
        memo["features"], memo["decoded"] = features.detach(), decoded.detach()
        (from_source, from_target), classes = self._criticise(decoded, source)
        swapped = taken_for(Provenance.TARGET_REAL, from_source) + taken_for(Provenance.SOURCE_REAL, from_target)
        return source_terms(source, on_source) | target_tag_term(target, on_target) | {
            "adversarial": config.weight * swapped,
            "decoded_classes": config.weight_classes * segment(classes, source),
        }  # fmt: skip

    def _generator_terms(self, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        """G: images like the originals, real to D, and with the source's classes in them."""
        source, target, config = batch.source, batch.target, self.config
        assert source is not None and target is not None
        decoded = self.generator(memo["features"], source.images.shape[-2:])
        (from_source, from_target), classes = self._criticise(decoded, source)
        real = taken_for(Provenance.SOURCE_REAL, from_source) + taken_for(Provenance.TARGET_REAL, from_target)
        images = decoded.tensor_split([len(source.images)])
        return {
            "generator_classes": segment(classes, source),
            "generator_real": config.weight_real * real,
            "reconstruction_source": config.weight_reconstruction * absolute_error(images[0], source.images),
            "reconstruction_target": config.weight_reconstruction * absolute_error(images[1], target.images),
        }

    def _critic_terms(self, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        """D: the four cases, and the classes of real source images."""
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        count, both = len(source.images), len(memo["decoded"])
        scores, classes = self.critic(torch.cat([source.images, target.images, memo["decoded"]]))
        cases = (Provenance.SOURCE_REAL, Provenance.TARGET_REAL, Provenance.SOURCE_FAKE, Provenance.TARGET_FAKE)
        parts = zip(cases, scores.tensor_split([count, both, both + count]), strict=True)
        terms = {f"critic_{case.name.lower()}": taken_for(case, part) for case, part in parts}
        return terms | {"critic_classes": segment(classes, source)}

    def _criticise(self, decoded: Tensor, source: SourceBatch) -> tuple[tuple[Tensor, ...], Tensor]:
        """D on decoded images of both domains: provenance of source and of target, and all images' classes."""
        scores, classes = self.critic(decoded)
        return scores.tensor_split([len(source.images)]), classes


def segment(classes: Tensor, source: SourceBatch) -> Tensor:
    """D's class logits [B, K, h, w], of which the first are source images with masks, against those masks."""
    masked = classes[: len(source.masks)]
    full = nn.functional.interpolate(masked, size=source.masks.shape[-2:], mode="bilinear", align_corners=False)
    return segmentation(full, source.masks)
