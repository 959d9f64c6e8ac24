"""CGAN: Hong, Wang, Yang, Yuan, "Conditional Generative Adversarial Network for Structured Domain Adaptation",
CVPR 2018.  A generator turns the source's low-level features, with noise, into what target features look like.
OUR DESIGN after the paper's idea: no code was published, and its layer sizes and weights are not known for certain.

Faithful: the adapted features are x + G(x, z), x those of the first layers; a fully connected critic (as 1x1
convolutions) tells the high-level features of adapted source from those of target; G fools it and keeps the task
solvable; the segmenter learns from raw and adapted source features alike; the target's own way is the plain network.
Designed here: x is what enters the first stage of the shared backbone, z is one channel of U(-1, 1); eight residual
blocks with GroupNorm; G starts at zero; the critic sees the ASPP's output; Adam for generator and critic.  Segmenter
and critic are updated with G fixed, then G with both fixed, so that G alone adapts; the first layers learn from raw
images only.  Where images carry tags, S1 learns from those of both domains.
`weight` is the setting to search (0.01 to 1): where fooling the critic hardly counts beside the task, G serves the task
alone.  The log tells: `figure/residual`, the size of G(x, z) beside x, and `figure/critic_accuracy`, one half where the
critic cannot tell adapted source from target, because G fools it or because it has learnt nothing.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SegOutput, SourceBatch, TargetBatch, at_least_float32
from endotransfer.config import Strict
from endotransfer.losses.adversarial import critic_accuracy, critic_loss, fooling_loss
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method, split_output
from endotransfer.models.backbones.stem import from_low_level, low_level, low_level_channels
from endotransfer.models.critics.cell_critics import FeatureCritic
from endotransfer.models.generators.feature_generator import FeatureGenerator
from endotransfer.models.generators.image_noise import like, uniform_noise
from endotransfer.models.segmenters.segmenter import Segmenter


class CganConfig(Strict):
    weight: float = Field(0.01, gt=0)  # of fooling the critic, against the task's terms on adapted features
    generator_lr: float = Field(1e-4, gt=0)
    critic_lr: float = Field(1e-4, gt=0)
    width: int = Field(64, ge=1)  # channels inside the generator
    blocks: int = Field(8, ge=1)


class Cgan(Method):
    name = "cgan"
    summary = "CGAN: a generator adapts the source's low-level features; the segmenter learns from both"
    Config: ClassVar[type[Strict]] = CganConfig
    config: CganConfig
    phases: ClassVar[dict[str, tuple[str, ...]]] = {
        "net": ("segmenter",), "critic": ("critic",), "generator": ("generator",),
    }  # fmt: skip
    segmenter: Segmenter
    generator: FeatureGenerator
    critic: FeatureCritic

    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        generator = FeatureGenerator(low_level_channels(segmenter), self.config.width, self.config.blocks)
        return {"segmenter": segmenter, "generator": generator, "critic": FeatureCritic(segmenter.feature_channels)}

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase == "net":
            return None
        lr = self.config.critic_lr if phase == "critic" else self.config.generator_lr
        return Adam(self.get_submodule(phase).parameters(), lr=lr)

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        if phase == "critic":
            scores = self.critic(torch.cat([memo["adapted"], memo["target"]]))
            both = scores.split([len(memo["adapted"]), len(memo["target"])])
            memo["scores"] = tuple(part.detach() for part in both)
            return {"critic": critic_loss(*both)}
        if phase == "generator":
            return self._generator_terms(source, memo)
        on_source, on_adapted, on_target = self._forward_all(source, target, memo)
        memo["adapted"], memo["target"] = on_adapted.features.detach(), on_target.features.detach()
        return source_terms(source, on_source) | adapted_terms(source, on_adapted) | target_tag_term(target, on_target)

    def figures(self, memo: Memo) -> dict[str, Tensor]:
        low, adapted = (at_least_float32(memo[name]) for name in ("low", "adapted_low"))
        return {
            "residual": (adapted - low).norm() / low.norm(),
            "critic_accuracy": critic_accuracy(*memo["scores"]),
        }

    def _generator_terms(self, source: SourceBatch, memo: Memo) -> dict[str, Tensor]:
        """A forward of its own: no gradient led to G in the first, and the segmenter has moved since."""
        adapted = self.generator(memo["low"], memo["noise"])
        was_training = self.segmenter.training
        self.segmenter.eval()  # as a fixed function: no statistics move, nothing is dropped
        output = from_low_level(self.segmenter, adapted)
        self.segmenter.train(was_training)
        # A negated score swaps the domains: adapted source is to score as target.
        fooling = self.config.weight * fooling_loss(-self.critic(output.features))
        task = adapted_terms(source, output)
        return {"adversarial": fooling} | {f"generator_{name}": value for name, value in task.items()}

    def _forward_all(
        self, source: SourceBatch, target: TargetBatch, memo: Memo
    ) -> tuple[SegOutput, SegOutput, SegOutput]:
        """Raw source, adapted source and target; `memo` keeps what the generator's phase begins with."""
        net, count = self.segmenter, len(source.images)
        together = self.task.model.norm in ("frozen", "group")  # otherwise batch statistics would mix domains
        if together:
            low, low_target = low_level(net, torch.cat([source.images, target.images])).tensor_split([count])
        else:
            low, low_target = low_level(net, source.images, "source"), low_level(net, target.images, "target")
        memo["low"] = low.detach()
        memo["noise"] = like(uniform_noise(source.keys, self.progress.step, low.shape[-2:]), low)
        with torch.no_grad():
            adapted = memo["adapted_low"] = self.generator(memo["low"], memo["noise"])
        if together:
            both, on_target = split_output(from_low_level(net, torch.cat([low, adapted, low_target])), 2 * count)
        else:
            both = from_low_level(net, torch.cat([low, adapted]), "source")
            on_target = from_low_level(net, low_target, "target")
        return *split_output(both, count), on_target


def adapted_terms(source: SourceBatch, output: SegOutput) -> dict[str, Tensor]:
    """The task on adapted features: masks and tags are those of the images they come from."""
    return {name.replace("source", "adapted"): value for name, value in source_terms(source, output).items()}
