"""CRST (MRKLD): Zou, Yu, Liu, Vijaya Kumar, Wang, "Confidence Regularized Self-Training", ICCV 2019.  Pseudo-labels are
wrong in places; a network that is not rewarded for being certain of them learns less from their faults.

Faithful: CBST's rounds, and beside the cross-entropy on each labelled target pixel 0.1 times the divergence of its
prediction from the uniform distribution (MRKLD, the paper's best on street scenes); none on the source.
Designed here: what CBST's file says (source stage, rates, tags), which this one extends.  Pixels that are labelled
because a tag says so are regularised like all others.
Left out: the other regularisers (LRENT with soft labels, MRL2, MRENT).
"""

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from endotransfer.batch import TargetBatch
from endotransfer.config import Strict
from endotransfer.losses.confidence import divergence_from_uniform
from endotransfer.methods.cbst import CBST, CBSTConfig


class CRSTConfig(CBSTConfig):
    """CBST's, and the weight of what keeps its network from being too sure."""

    uniform_weight: float = Field(0.1, ge=0)  # of KL(uniform || prediction) on labelled target pixels


class CRST(CBST):
    name = "crst"
    summary = "CBST with confidence regularisation (MRKLD): not too sure of pseudo-labels"
    records_steps = True
    Config: ClassVar[type[Strict]] = CRSTConfig
    config: CRSTConfig

    def terms_of_labels(self, target: TargetBatch, logits: Tensor) -> dict[str, Tensor]:
        terms, weight = super().terms_of_labels(target, logits), self.config.uniform_weight
        if weight:
            assert target.stored is not None
            terms["uniform_target"] = weight * divergence_from_uniform(logits, target.stored)
        return terms
