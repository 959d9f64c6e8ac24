"""CyCADA: Hoffman, Tzeng, Park, Zhu, Isola, Saenko, Efros, Darrell, "CyCADA: Cycle-Consistent Adversarial Domain
Adaptation", ICML 2018.  The segmenter learns from translated source images; then a critic aligns its score maps.

Faithful: the three stages; CycleGAN with least-squares critics, cycle weight 10 and its own Adam; the score critic's
layers, lambda_D 1, lambda_G 0.1; in the last stage the segmenter moves (on source masks, too) only while that critic
was right in more than 60 % of its last 100 steps; no semantic loss in translation, as in the authors' street scenes.
Designed here: steps of translation are ADDED to the experiment's, under a schedule of their own, so that the segmenter
has as many epochs as in any other row, under the same learning rates; there are 5,000 of them, where the original has
100,000 and more, and a run with fewer says that it is "cycada (short)"; translators are half as wide as CycleGAN's and
start next to the identity, their critics have no norm (models/generators/translator.py); the score critic works at the
network's own resolution, with the experiment's optimiser; one epoch alone has no feature stage; S1 learns all tags.
Left out: CycleGAN's pool of earlier translations and its identity loss.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.adversarial import critic_loss, fooling_loss
from endotransfer.losses.cycle_consistency import cycle_loss, image_critic_loss, realism_loss
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Stage
from endotransfer.models.critics.cell_critics import ScoreCritic
from endotransfer.models.critics.running_accuracy import RunningAccuracy
from endotransfer.models.critics.strided_critics import PatchCritic
from endotransfer.models.frozen_forward import held_still
from endotransfer.models.generators.translator import Translator

DOMAINS = ("source", "target")


ENOUGH = 5000  # steps of translation, fewer than which a row of a table must own up to
SHORT = 100  # steps of preset `short`: for a machine without a GPU


class CyCADAConfig(Strict):
    """0 steps, or a share of 0, leave a stage and its networks out."""

    translation_steps: int = Field(ENOUGH, ge=0)  # on top of the experiment's epochs
    feature_share: float = Field(0.3, ge=0, lt=1)  # of the experiment's epochs, the last, at least one
    cycle_weight: float = Field(10.0, ge=0)
    translation_lr: float = Field(2e-4, gt=0)
    width: int = Field(32, ge=1)  # of translators and their critics; CycleGAN's is 64
    blocks: int = Field(6, ge=1)  # CycleGAN's number for images below 256 pixels a side
    feature_weight: float = Field(0.1, gt=0)  # lambda_G
    gate: float = Field(0.6, ge=0, le=1)  # the score critic's accuracy above which the segmenter moves
    gate_steps: int = Field(100, ge=1)


class CyCADA(Method):
    name = "cycada"
    summary = "CyCADA: source images translated into the target's look, then a critic on score maps"
    presets: ClassVar[dict[str, RawConfig]] = {
        "default": {},
        "short": {"translation_steps": SHORT},
        "translation": {"feature_share": 0.0},
        "features": {"translation_steps": 0},
    }  # fmt: skip
    phases: ClassVar[dict[str, tuple[str, ...]]] = {
        "net": ("segmenter",), "score_critic": ("score_critic",),
        "translators": ("translators",), "image_critics": ("image_critics",),
    }  # fmt: skip
    Config: ClassVar[type[Strict]] = CyCADAConfig
    config: CyCADAConfig
    score_critic: ScoreCritic
    accuracy: RunningAccuracy
    translators: nn.ModuleDict  # by the domain that they translate into
    image_critics: nn.ModuleDict  # by the domain whose real images they know

    def networks(self) -> dict[str, nn.Module]:
        networks, config = super().networks(), self.config
        if config.translation_steps:
            networks["translators"] = nn.ModuleDict({name: Translator(config.width, config.blocks) for name in DOMAINS})
            networks["image_critics"] = nn.ModuleDict({name: PatchCritic(config.width) for name in DOMAINS})
        if self._feature_epochs():
            networks["score_critic"] = ScoreCritic(self.task.classes, 0.5 if self.task.model.dropout else 0.0)
            networks["accuracy"] = RunningAccuracy(config.gate_steps)
        return networks

    def _feature_epochs(self) -> int:
        share, epochs = self.config.feature_share, self.task.epochs
        return min(max(1, round(share * epochs)), epochs - 1) if share else 0

    def stages(self) -> list[Stage]:
        steps, features = self.config.translation_steps, self._feature_epochs()
        translators = ("translators", "image_critics")
        stages = [
            Stage("translation", 1 if steps else 0, translators, own_schedule=True, steps=steps),
            Stage("segmentation", self.task.epochs - features, target=self.task.tags),
            Stage("features", features, ("net", "score_critic")),
        ]
        return [stage for stage in stages if stage.epochs]

    def findings(self) -> dict[str, object]:
        steps = self.config.translation_steps
        if not 0 < steps < ENOUGH:
            return {}
        remark = (
            f"this is cycada (short): its translators had {steps:,} steps, fewer than {ENOUGH:,}, and the original's "
            "have 100,000 and more; call its row so, or raise method.translation_steps."
        )
        return {"remarks": [remark]}

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase in ("translators", "image_critics"):
            return Adam(self.get_submodule(phase).parameters(), lr=self.config.translation_lr, betas=(0.5, 0.999))
        return None

    def active(self, phase: str) -> bool:
        if phase != "net" or self.progress.stage != "features":
            return True
        # The host waits for one number a step.  A weight of 0 in its place would let Adam's momentum move on.
        return bool(self.accuracy.value() > self.config.gate)

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        terms: dict[str, Tensor] = getattr(self, f"_{phase}_terms")(batch, memo)
        return terms

    def _translators_terms(self, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        real, into = _images(batch), self.translators
        translated = {"target": into["target"](real["source"]), "source": into["source"](real["target"])}
        back = {"source": into["source"](translated["target"]), "target": into["target"](translated["source"])}
        memo["translated"] = {name: images.detach() for name, images in translated.items()}
        cycle = {f"cycle_{name}": self.config.cycle_weight * cycle_loss(real[name], back[name]) for name in DOMAINS}
        return cycle | {f"realism_{name}": realism_loss(self.image_critics[name](translated[name])) for name in DOMAINS}

    def _image_critics_terms(self, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        real, translated = _images(batch), memo["translated"]
        return {
            f"image_critic_{name}": image_critic_loss(critic(real[name]), critic(translated[name]))
            for name, critic in self.image_critics.items()
        }

    @torch.no_grad()
    def in_target_style(self, images: Tensor) -> Tensor:
        """Source images [B, 3, H, W] as the segmenter sees them: translated, where there is translation."""
        return self.translators["target"](images) if self.config.translation_steps else images

    def _net_terms(self, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None
        shown = self.in_target_style(source.images)
        if target is None:
            return source_terms(source, self.segmenter(shown, domain="source"))
        on_source, on_target = self.forward_both(shown, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        if self.progress.stage == "features":
            memo["scores"] = on_source.logits.detach(), on_target.logits.detach()
            terms["adversarial"] = self.config.feature_weight * fooling_loss(self.score_critic(on_target.logits))
        return terms

    def _score_critic_terms(self, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if "scores" not in memo:  # the gate keeps the segmenter still
            real = _images(batch)
            with held_still(self.segmenter):
                outputs = self.forward_both(self.in_target_style(real["source"]), real["target"])
            memo["scores"] = tuple(output.logits for output in outputs)
        scores = self.score_critic(torch.cat(memo["scores"])).split([len(maps) for maps in memo["scores"]])
        self.accuracy.update(*scores)
        return {"score_critic": 0.5 * critic_loss(*scores)}


def _images(batch: Batch) -> dict[str, Tensor]:
    assert batch.source is not None and batch.target is not None
    return {"source": batch.source.images, "target": batch.target.images}
