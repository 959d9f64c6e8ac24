"""NMD: Chen, Chen, Chen, Tsai, Wang, Sun, "No More Discrimination: Cross City Adaptation of Road Scene Segmenters",
ICCV 2017.  Critics classify single cells of the features: one for all cells, and one for each class.

Faithful: the critics' layers and first weights; the shares of a class in a cell (of the mask on the source, of the
prediction on the target) as weights of its critic's loss; the encoder sees exchanged domains from the critic of all
cells and the mean of true and exchanged ones from the class critics; both terms' ramps and the class term's late start,
each ramp from where its term begins; adaptation starts from a network that segments the source.
Designed here: critics see the features of the shared DeepLab-v3's pixel classifier (ASPP), whose cells are 8 x 8 pixels
as in the original; the first quarter of the epochs trains the source alone, and 1,200 steps of ramp and the class
term's start at step 1,000 are shares of the rest, as of the original's 3,000 steps, so that short runs get there too;
class critics learn as soon as there are target images; critics keep Adam and rates 10 and 20 times the segmenter's
(1e-4 by default); where images carry tags, S1 learns from those of both domains.  In the original 0.05 is a factor of
the LEARNING RATE of Adams of their own for what critics ask of the encoder; Adam divides by the gradient's size, so
each moves it a twentieth as far as the task does.  That takes another forward and backward in every step, which would
double this row's cost; here it is a weight in the one loss, where sizes do count, and so it is the setting to search.
Left out: the prior of static objects, which needs street views of several years, and source images without masks in the
class term.
"""

from collections.abc import Callable
from typing import ClassVar, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SegOutput, SourceBatch, at_least_float32
from endotransfer.config import Strict
from endotransfer.losses.domain_confusion import (
    Pair,
    cell_shares,
    confusion_loss,
    domain_loss,
    flipped_loss,
    ramp,
    scores_of,
)
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import WARM_UP, Stage, TaskInfo, after_warm_up_share
from endotransfer.models.critics.cell_critics import CellCritic


class NmdConfig(Strict):
    """A weight of 0 leaves the critics of that term out."""

    weight: float = Field(0.05, ge=0)  # of the critic of all cells, in the encoder's loss
    class_weight: float | None = Field(None, ge=0)  # of the class critics; None: the same
    warmup_share: float = Field(0.25, ge=0, lt=1)  # of the epochs, without transfer; the next two are of the rest
    ramp: float = Field(0.4, gt=0)  # share of the steps over which a weight rises, once its term has begun
    class_from: float = Field(1 / 3, ge=0, le=1)  # share of the steps before the class term reaches the encoder
    critic_lr: float = Field(1e-3, gt=0)
    class_critic_lr: float = Field(2e-3, gt=0)


class Nmd(Method):
    name = "nmd"
    summary = "NMD: critics of single feature cells, one for all and one a class"
    revision = 2
    Config: ClassVar[type[Strict]] = NmdConfig
    config: NmdConfig
    critics: nn.ModuleDict  # "all": a CellCritic; "classes": a list of them

    def __init__(self, task: TaskInfo, config: NmdConfig) -> None:
        super().__init__(task, config)
        if hasattr(self, "critics"):
            self.phases = {"net": ("segmenter",), "critic": ("critics",)}  # type: ignore[misc]

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        networks: dict[str, nn.Module] = {"segmenter": segmenter}

        def critic() -> CellCritic:
            return CellCritic(segmenter.feature_channels, dropout=self.task.model.dropout > 0)

        critics: dict[str, nn.Module] = {"all": critic()} if self.config.weight else {}
        if self._class_weight():
            critics["classes"] = nn.ModuleList(critic() for _ in range(self.task.classes))
        return networks | ({"critics": nn.ModuleDict(critics)} if critics else {})

    def _class_weight(self) -> float:
        config = self.config
        return config.weight if config.class_weight is None else config.class_weight

    def stages(self) -> list[Stage]:
        transfer = Stage("transfer", self.task.epochs, tuple(self.phases))
        return after_warm_up_share(self.config.warmup_share, transfer, self.task.tags)

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase != "critic":
            return None
        rates = {"all": self.config.critic_lr, "classes": self.config.class_critic_lr}
        return Adam([{"params": part.parameters(), "lr": rates[name]} for name, part in self.critics.items()])

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            terms = self._terms(domain_loss, domain_loss, **memo)
            return {f"critic_{name}": value for name, value in terms.items()}
        if self.progress.stage == WARM_UP:
            return self.supervised_terms(batch)
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        features = (on_source.features, on_target.features)
        shares = shares_of_classes(source, on_source, on_target)
        memo |= {"features": tuple(part.detach() for part in features), "shares": shares}
        weights = self.transfer_weights()
        confusing = self._terms(flipped_loss, confusion_loss, features, shares, tuple(weights))
        return terms | {f"adversarial_{name}": weights[name] * value for name, value in confusing.items()}

    def transfer_weights(self) -> dict[str, float]:
        """Weights of the terms that reach the encoder in this step."""
        config, done = self.config, self.progress.stage_done
        terms = {"all": (config.weight, done), "classes": (self._class_weight(), done - config.class_from)}
        return {
            name: weight * ramp(since, config.ramp) for name, (weight, since) in terms.items() if weight and since >= 0
        }

    def _terms(
        self,
        of_all: Callable[..., Tensor],
        of_class: Callable[..., Tensor],
        features: Pair,
        shares: Pair,
        names: tuple[str, ...] = ("all", "classes"),
    ) -> dict[str, Tensor]:
        """The loss `of_all` cells and the sum over classes of `of_class`, where there are critics for them."""
        terms = {}
        if "all" in names and "all" in self.critics:
            terms["all"] = of_all(scores_of(self.critics["all"], features))
        if "classes" in names and "classes" in self.critics:
            masked = features[0][: len(shares[0])], features[1]
            by_class = [
                of_class(scores_of(critic, masked), (shares[0][:, k], shares[1][:, k]))
                for k, critic in enumerate(cast(nn.ModuleList, self.critics["classes"]))
            ]
            terms["classes"] = torch.stack(by_class).sum()
        return terms


def shares_of_classes(source: SourceBatch, on_source: SegOutput, on_target: SegOutput) -> Pair:
    """Shares [., K, h, w] of each class in each cell: by mask (images that have one), and by prediction, detached."""
    by_mask = cell_shares(source.masks, on_source.logits)
    return by_mask, at_least_float32(on_target.logits.detach()).softmax(1)
