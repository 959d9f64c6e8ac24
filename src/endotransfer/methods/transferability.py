"""Transferability: after Dong, Cong, Sun, Zhong, Xu, "What Can Be Transferred: Unsupervised Domain Adaptation for
Endoscopic Lesions Segmentation", CVPR 2020, and Dong et al., "Weakly-Supervised Cross-Domain Adaptation for Endoscopic
Lesions Segmentation", TCSVT 2021: later systems of the paper's authors, who released no code.  A row of this name is
their published idea, not their system.

Faithful: a critic that sees features says how transferable each cell is, by the entropy of its decision; this
highlights what transfers and plays down what does not, as an attention with a residual part; confident target pixels
of every class are trained with their pseudo-labels.
Designed here, since neither formulas nor layers could be verified: the attention weighs losses (of pseudo-labels and of
the features that fool the critic) and not the features, so that prediction needs no critic; the critic judges single
cells of the features that the pixel classifier sees; pseudo-labels are those of the authors' first system (class
thresholds over the whole target set, 25 to 55 % of each class), after a warm-up on the source; all weights.
Left out: the translation of images and its bottleneck (CVPR 2020), the Wasserstein form of the critic, and centroid
alignment (TCSVT 2021; `semantic_transfer` has it).
"""

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SegOutput, TargetBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.adversarial import tell_apart
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.losses.transfer_gate import gate_weights, gated_fooling, weights_at
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import WARM_UP, Stage, after_warm_up
from endotransfer.models.critics.cell_critics import FeatureCritic
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.portion import portion
from endotransfer.pseudo_labels.rules import TagRule
from endotransfer.pseudo_labels.target_set import TargetSet


class TransferabilityConfig(Strict):
    warmup_epochs: int = Field(1, ge=0)  # before anything is transferred
    gate: float = Field(0.5, ge=0, le=1)  # how much less a cell counts whose domain is plain; 0: all count the same
    eta: float = Field(0.01, ge=0)  # of the features that fool the critic
    critic_lr: float = Field(1e-4, gt=0)
    fill_normal: bool = False  # images tagged normal are labelled normal everywhere


class Transferability(Method):
    name = "transferability"
    summary = "after the authors' later work: a critic's doubt says which target cells count in labels and transfer"
    revision = 2
    phases: ClassVar[dict[str, tuple[str, ...]]] = {"net": ("segmenter",), "critic": ("critic",)}
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}, "tags": {"fill_normal": True}}
    records_steps = True
    Config: ClassVar[type[Strict]] = TransferabilityConfig
    config: TransferabilityConfig
    critic: FeatureCritic

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        networks: dict[str, nn.Module] = {"segmenter": segmenter}
        return networks | ({"critic": FeatureCritic(segmenter.feature_channels)} if self._has_critic() else {})

    def _has_critic(self) -> bool:
        return bool(self.config.gate or self.config.eta)

    def stages(self) -> list[Stage]:
        phases = ("net", "critic") if self._has_critic() else ("net",)
        transfer = Stage("transfer", self.task.epochs, phases, target_pass=True)
        return after_warm_up(self.config.warmup_epochs, transfer, self.task.tags)

    def optimiser(self, phase: str) -> Optimizer | None:
        return Adam(self.critic.parameters(), lr=self.config.critic_lr) if phase == "critic" else None

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """Label the whole target set, once an epoch."""
        summary = label_target_set(
            self.predict_target, target, self.task.classes, portion(self.progress.stage_epoch),
            rules=[TagRule()] if self.config.fill_normal else [], device=self.device,
        )  # fmt: skip
        return summary.figures()

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            return {"critic": tell_apart(self.critic, memo)}
        if self.progress.stage == WARM_UP:
            return self.supervised_terms(batch)
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        memo |= {"source": on_source.features.detach(), "target": on_target.features.detach()}
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        return terms | self.transfer_terms(target, on_target)

    def transfer_terms(self, target: TargetBatch, output: SegOutput) -> dict[str, Tensor]:
        """Pseudo-labels and the fooling of the critic, each cell weighted by its transferability."""
        assert target.stored is not None
        size, weights, terms = target.images.shape[-2:], None, {}
        if self._has_critic():
            scores = self.critic(output.features)
            by_cell = gate_weights(scores, self.config.gate)
            weights = weights_at(by_cell, size)
            if self.config.eta:
                terms["adversarial"] = self.config.eta * gated_fooling(scores, by_cell)
        terms["segmentation_target"] = segmentation(output.at(size), target.stored, weights=weights)
        return terms
