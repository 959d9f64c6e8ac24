"""ADVENT: Vu, Jain, Bucher, Cord, Pérez, "ADVENT: Adversarial Entropy Minimization for Domain Adaptation in Semantic
Segmentation", CVPR 2019.  The target's predictions are to be as sure as the source's.

Faithful: LtA's skeleton, critics and weights at two levels.  `adversarial`: the critics see the weighted
self-information -P log P / log K.  `minent`: no critic; the target's mean entropy (a share of log K) is minimised.
Designed here: what LtA's file says (shared network, the experiment's optimiser, tags), which this one extends.
"""

from typing import ClassVar, Literal

from torch import Tensor

from endotransfer.config import RawConfig, Strict
from endotransfer.losses.entropy import mean_entropy, self_information
from endotransfer.methods.base import Memo
from endotransfer.methods.lta import Levels, Lta, LtaConfig


class AdventConfig(LtaConfig):
    """LtA's weights, and by which of the paper's two objectives entropy falls."""

    objective: Literal["adversarial", "entropy"] = "adversarial"


class Advent(Lta):
    name = "advent"
    summary = "ADVENT: critics on self-information maps, or (minent) the target's entropy itself"
    presets: ClassVar[dict[str, RawConfig]] = {"adversarial": {}, "minent": {"objective": "entropy"}}
    records_steps = True
    Config: ClassVar[type[Strict]] = AdventConfig
    config: AdventConfig

    def what_the_critic_sees(self, logits: Tensor) -> Tensor:
        return self_information(logits)

    def critic_levels(self) -> tuple[str, ...]:
        return super().critic_levels() if self.config.objective == "adversarial" else ()

    def transfer_terms(self, source: Levels, target: Levels, memo: Memo) -> dict[str, Tensor]:
        if self.config.objective == "adversarial":
            return super().transfer_terms(source, target, memo)
        weights = self.transfer_weights().items()
        return {f"entropy_{level}": weight * mean_entropy(target[level]) for level, weight in weights}
