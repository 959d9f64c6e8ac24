"""Semantic transfer: Dong, Cong, Sun, Hou, "Semantic-Transferable Weakly-Supervised Endoscopic Lesions Segmentation",
ICCV 2019.  Pseudo-labels (Algorithms 1 and 2), centroid alignment (Algorithm 3, Eq. 7), adversarial learning (Eq. 6).

Faithful: the text wherever it can be executed, read so that all terms of its objective are on one scale (preset
`paper`); to the letter, sums beside means, it collapses (preset `literal`, kept for the record).  docs/paper-to-code.md
lists each deviation.  What goes beyond the paper is a method of its own: `tag_transfer`.
"""

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SegOutput, SourceBatch, TargetBatch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.adversarial import fool, tell_apart
from endotransfer.losses.centroids import Average, Distance, DomainCentroids, History
from endotransfer.losses.cross_entropy import Reduction, segmentation
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import WARM_UP, Stage, after_warm_up
from endotransfer.models.critics.strided_critics import Discriminator
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.portion import portion
from endotransfer.pseudo_labels.rules import VoteRule, Voting
from endotransfer.pseudo_labels.target_set import TargetSet


class SemanticTransferConfig(Strict):
    """One field for each decision; the defaults are the paper's."""

    # Eq. 1: L_C + L_S + eta L_D + mu L_SRT.  A weight of 0 leaves the term out.
    eta: float = Field(0.3, ge=0)
    mu: float = Field(10.0, ge=0)
    warmup_epochs: int = Field(1, ge=0)  # before the transfer: Eqs. 2 and 3 on the source alone
    warmup_tags: bool = False  # and Eq. 2 on the target, so that S1 knows it before it is labelled
    # Eq. 3.  PAPER: sums over pixels; then L_S is 1e4 to 1e5 and every other weight is noise.
    reduction: Reduction = "mean"
    # Algorithms 1 and 2, Eq. 5
    pseudo_labels: bool = True
    class_balance: bool = True  # False: Ours-woCB
    portion_start: float = Field(0.25, gt=0, le=1)
    portion_step: float = Field(0.05, ge=0, le=1)
    portion_stop: float = Field(0.55, gt=0, le=1)
    voting: Voting = "in_place"  # none: Ours-woSP
    voting_iterations: int = Field(1, ge=1)
    # Algorithm 3, Eq. 7
    alpha: float = Field(1.0, ge=0)
    gamma: float = Field(0.7, ge=0, lt=1)
    centroid_average: Average = "labelled_pixels"
    centroid_history: History = "weighted_mean"
    centroid_distance: Distance = "mean"
    # Eq. 6
    critic_lr: float = Field(1e-4, gt=0)


class SemanticTransfer(Method):
    name = "semantic_transfer"
    summary = "the paper: class-balanced super-pixel pseudo-labels, centroid alignment, adversarial output (Ours)"
    proposed = True
    records_steps = True
    phases: ClassVar[dict[str, tuple[str, ...]]] = {"net": ("segmenter",), "critic": ("critic",)}
    presets: ClassVar[dict[str, RawConfig]] = {
        "paper": {},  # the reading in which all terms of Eq. 1 are means: it trains with the paper's own weights
        "literal": {"centroid_average": "all_pixels", "centroid_history": "sum", "centroid_distance": "sum"},
    }
    # Table 2 and the lower halves of Tables 3 and 4; each switches off what its name does not list.
    variants: ClassVar[dict[str, RawConfig]] = {
        "BL": {"eta": 0.0, "mu": 0.0, "pseudo_labels": False},  # and, with tags, S1 on those of the target
        "BL+AL": {"mu": 0.0, "pseudo_labels": False},
        "BL+AL+PL": {"mu": 0.0},
        "BL+AL+SRT": {"pseudo_labels": False},
        "BL+PL+SRT": {"eta": 0.0},
        "Ours": {},
        "Ours-woPL": {"pseudo_labels": False},  # the same system as BL+AL+SRT
        "Ours-woCB": {"class_balance": False},
        "Ours-woSP": {"voting": "none"},
    }
    Config: ClassVar[type[Strict]] = SemanticTransferConfig
    config: SemanticTransferConfig
    critic: Discriminator
    centroids: DomainCentroids

    def networks(self) -> dict[str, nn.Module]:
        segmenter, config = self.plain_segmenter(), self.config
        networks: dict[str, nn.Module] = {"segmenter": segmenter}
        if config.eta:
            networks["critic"] = Discriminator(self.task.classes)
        if config.mu:
            networks["centroids"] = DomainCentroids(
                self.task.classes, segmenter.feature_channels, config.gamma, config.alpha,
                average=config.centroid_average, history=config.centroid_history, distance=config.centroid_distance,
            )  # fmt: skip
        return networks

    def stages(self) -> list[Stage]:
        phases = ("net", "critic") if self.config.eta else ("net",)
        transfer = Stage("transfer", self.task.epochs, phases, target_pass=self.config.pseudo_labels)
        return after_warm_up(self.config.warmup_epochs, transfer, self.config.warmup_tags and self.task.tags)

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase == "critic":
            return Adam(self.critic.parameters(), lr=self.config.critic_lr, betas=(0.9, 0.99))
        return None

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """Algorithms 1 and 2 over the target set.  PAPER: once an epoch, not in every iteration as in Algorithm 3."""
        config = self.config
        share = portion(self.progress.stage_epoch, config.portion_start, config.portion_step, config.portion_stop)
        summary = label_target_set(
            self.predict_target, target, self.task.classes, share, balanced=config.class_balance,
            rules=[VoteRule(config.voting, config.voting_iterations)], device=self.device,
        )  # fmt: skip
        return summary.figures()

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            return {"critic": tell_apart(self.critic, memo)}
        source, target, reduction = batch.source, batch.target, self.config.reduction
        if self.progress.stage == WARM_UP:
            return self.supervised_terms(batch, reduction)
        assert source is not None and target is not None
        source_output, target_output = self.forward_both(source.images, target.images)
        source_logits = source_output.at(source.images.shape[-2:])
        terms = source_terms(source, source_output, source_logits, reduction) | target_tag_term(target, target_output)
        target_logits = target_output.at(target.images.shape[-2:])
        if target.stored is not None:
            terms["segmentation_target"] = segmentation(target_logits, target.stored, reduction)
        if self.config.eta:
            terms["adversarial"] = self.config.eta * fool(self.critic, memo, source_logits, target_logits)
        if self.config.mu:
            terms["centroids"] = self.config.mu * self._alignment(source, source_output, target, target_output)
        return terms

    def wants_superpixels(self) -> bool:
        return self.config.pseudo_labels and self.config.voting != "none"

    def _alignment(
        self, source: SourceBatch, source_output: SegOutput, target: TargetBatch, target_output: SegOutput
    ) -> Tensor:
        """Eq. 7.  Without pseudo-labels (BL+AL+SRT) the plain prediction says which pixel is of which class."""
        labels = target_output.logits.argmax(1) if target.stored is None else target.stored
        masked = source_output.features[: len(source.masks)]
        aligned: Tensor = self.centroids(masked, source.masks, target_output.features, labels)
        return aligned
