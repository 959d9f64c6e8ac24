"""LtA (AdaptSegNet): Tsai, Hung, Schulter, Sohn, Yang, Chandraker, "Learning to Adapt Structured Output Space for
Semantic Segmentation", CVPR 2018.  A critic for each level tells domains apart by the softmax map; target maps fool it.

Faithful: both levels (`multi`) or the last alone (`single`), the critic's layers, its Adam and all weights; softmax of
the logits up-sampled to the image's size; source is scored as 0, target as 1.
Designed here: the shared DeepLab-v3 in place of DeepLab-v2 (`model.head: deeplab_v2` for the original), so that rows
compare methods and not networks; optimiser and schedule of the segmenter are the experiment's; where images carry tags,
S1 learns from those of both domains.  The weights were tuned for 150,000 steps of one image, and shorter training may
want larger ones: `weight` and `critic_lr` are the settings to search, and the second level follows at the original's
ratio.  `normals`: target images tagged normal are normal on every pixel.  `tags`: and images tagged lesion show one
somewhere, by a small multiple-instance term that is silent once they do.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SegOutput
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.adversarial import critic_loss, fooling_loss
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.supervised_terms import missed_term, normal_term, source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import TaskInfo
from endotransfer.models.critics.strided_critics import SoftmaxCritic
from endotransfer.models.segmenters.two_level import TwoLevelSegmenter

AUX_SHARE = 0.2  # of the main level's weight
Levels = dict[str, Tensor]  # "main" and, with two levels, "aux": logits [B, K, H, W] at the image's size


class LtaConfig(Strict):
    """Weights of L_G = CE_main + w CE_aux + transfer terms of both levels.  A weight of 0 leaves a critic out."""

    two_levels: bool = True  # False: no classifier on the stage before the last
    weight: float = Field(0.001, ge=0)
    weight_aux: float | None = Field(None, ge=0)  # None: a fifth of `weight`, the original's ratio
    segmentation_aux: float = Field(0.1, gt=0)
    critic_lr: float = Field(1e-4, gt=0)
    normal_weight: float = Field(0.0, ge=0)  # of the cross-entropy on target images tagged normal
    missed_weight: float = Field(0.0, ge=0)  # of the loss on target images tagged lesion that show none


class Lta(Method):
    name = "lta"
    summary = "LtA (AdaptSegNet): critics on the softmax maps of two levels"
    presets: ClassVar[dict[str, RawConfig]] = {
        "multi": {},
        "single": {"two_levels": False},
        "normals": {"normal_weight": 1.0},
        "tags": {"normal_weight": 1.0, "missed_weight": 0.03},
    }
    records_steps = True
    Config: ClassVar[type[Strict]] = LtaConfig
    config: LtaConfig
    critics: nn.ModuleDict

    def __init__(self, task: TaskInfo, config: LtaConfig) -> None:
        super().__init__(task, config)
        if hasattr(self, "critics"):  # a preset without critics has no phase for them
            self.phases = {"net": ("segmenter",), "critic": ("critics",)}  # type: ignore[misc]

    def networks(self) -> dict[str, nn.Module]:
        plain = self.plain_segmenter()
        networks: dict[str, nn.Module] = {"segmenter": plain}
        if self.config.two_levels:
            networks["segmenter"] = TwoLevelSegmenter(plain, self.task.model)
        critics = {level: SoftmaxCritic(self.task.classes) for level in self.critic_levels()}
        if critics:
            networks["critics"] = nn.ModuleDict(critics)
        return networks

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase != "critic":
            return None
        return Adam(self.critics.parameters(), lr=self.config.critic_lr, betas=(0.9, 0.99))

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            return self._critic_terms(memo)
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        source_levels = levels_at(on_source, source.images.shape[-2:])
        target_levels = levels_at(on_target, target.images.shape[-2:])
        terms = source_terms(source, on_source, source_levels["main"]) | target_tag_term(target, on_target)
        if "aux" in source_levels:
            labelled = source_levels["aux"][: len(source.masks)]
            terms["segmentation_source_aux"] = self.config.segmentation_aux * segmentation(labelled, source.masks)
        terms |= normal_term(self.config.normal_weight, target, target_levels["main"])
        terms |= missed_term(self.config.missed_weight, target, target_levels["main"])
        return terms | self.transfer_terms(source_levels, target_levels, memo)

    # -- what ADVENT does otherwise -----------------------------------------------------------------------------

    def what_the_critic_sees(self, logits: Tensor) -> Tensor:
        """Logits [B, K, H, W] -> the maps, of the same shape, by which a critic tells domains apart."""
        return logits.softmax(1)

    def critic_levels(self) -> tuple[str, ...]:
        return tuple(self.transfer_weights())

    def transfer_terms(self, source: Levels, target: Levels, memo: Memo) -> dict[str, Tensor]:
        """Fooling each level's critic; `memo` keeps the maps, detached, for the critics' own phase."""
        terms = {}
        for level, weight in self.transfer_weights().items():
            seen = self.what_the_critic_sees(target[level])
            memo[level] = self.what_the_critic_sees(source[level].detach()), seen.detach()
            terms[f"adversarial_{level}"] = weight * fooling_loss(self.critics[level](seen))
        return terms

    def transfer_weights(self) -> dict[str, float]:
        """Weights of the levels that transfer anything."""
        config = self.config
        aux = AUX_SHARE * config.weight if config.weight_aux is None else config.weight_aux
        weights = {"main": config.weight, "aux": aux if config.two_levels else 0.0}
        return {level: weight for level, weight in weights.items() if weight}

    def _critic_terms(self, memo: Memo) -> dict[str, Tensor]:
        """L_D of each level, which halves the sum over domains."""
        terms = {}
        for level, critic in self.critics.items():
            maps = memo[level]
            scores = critic(torch.cat(maps)).split([len(domain) for domain in maps])
            terms[f"critic_{level}"] = 0.5 * critic_loss(*scores)
        return terms


def levels_at(output: SegOutput, size: torch.Size) -> Levels:
    """Both levels' logits, up-sampled to `size` = (H, W)."""
    levels = {"main": output.at(size)}
    if "logits" in output.aux:
        levels["aux"] = interpolate(output.aux["logits"], size=tuple(size), mode="bilinear", align_corners=False)
    return levels
