"""Semantic transfer: Dong, Cong, Sun, Hou, "Semantic-Transferable Weakly-Supervised Endoscopic Lesions Segmentation",
ICCV 2019.  Pseudo-labels (Algorithms 1 and 2), centroid alignment (Algorithm 3, Eq. 7), adversarial learning (Eq. 6).

Faithful (`paper`): the text to the letter wherever it can be executed; docs/paper-to-code.md lists each deviation.
Beyond it (`robust`, the default): the target's tags say which images have no lesion and, with local evidence, where in
the others it is (transfer/evidence.py); a mean teacher labels and predicts, centroids are means over the pixels of
their class, and every term keeps to the scale of the others.
"""

from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from endotransfer.batch import Batch, SegOutput, SourceBatch, TargetBatch
from endotransfer.config import Strict
from endotransfer.losses.adversarial import critic_loss, fooling_loss
from endotransfer.losses.centroids import Centroids, alignment, class_sums, labels_at
from endotransfer.losses.cross_entropy import segmentation, segmentation_by_tag
from endotransfer.methods.base import Memo, Method, SourceSet, Stage
from endotransfer.methods.terms import missed_term, pixel_tag_term, source_terms, target_tag_term
from endotransfer.models.critics.strided_critics import Discriminator
from endotransfer.models.local_features import LocalHead, LocalView
from endotransfer.models.mean_teacher import MeanTeacher
from endotransfer.pseudo_labels.label_target_set import TargetSet, label_target_set
from endotransfer.pseudo_labels.labeller_choice import LabellerChoice, LesionLabeller, refuse_without_evidence
from endotransfer.pseudo_labels.local_labeller import FALSE_ALARMS, LocalLabeller
from endotransfer.pseudo_labels.local_layer import fit, source_examples, target_examples
from endotransfer.pseudo_labels.portion import portion
from endotransfer.pseudo_labels.spreading import STEPS, spread, steps_for


class SemanticTransferConfig(Strict):
    """One field for each decision; the defaults are the paper's."""

    # Eq. 1: L_C + L_S + eta L_D + mu L_SRT.  A weight of 0 leaves the term out.
    eta: float = Field(0.3, ge=0)
    mu: float = Field(10.0, ge=0)
    untagged_mu: float | None = Field(None, ge=0)  # mu at most, where the target has no tags; None: no bound
    warmup_epochs: int = Field(1, ge=0)  # on the source alone
    untagged_warmup: float = Field(0.0, ge=0, lt=1)  # of all epochs, where that is more and the target has no tags
    # Eq. 3.  PAPER: sums over pixels; then L_S is 1e4 to 1e5 and every other weight is noise.
    reduction: Literal["mean", "sum"] = "mean"
    # Algorithms 1 and 2, Eq. 5
    pseudo_labels: bool = True
    class_balance: bool = True  # False: Ours-woCB
    portion_start: float = Field(0.25, gt=0, le=1)
    portion_step: float = Field(0.05, ge=0, le=1)
    portion_stop: float = Field(0.55, gt=0, le=1)
    voting: Literal["none", "in_place", "synchronous", "superpixel"] = "in_place"  # none: Ours-woSP
    voting_iterations: int = Field(1, ge=1)
    # Algorithm 3, Eq. 7
    alpha: float = Field(1.0, ge=0)
    gamma: float = Field(0.7, ge=0, lt=1)
    centroid_average: Literal["all_pixels", "class_pixels"] = "all_pixels"
    centroid_history: Literal["sum", "moving_average"] = "sum"
    # Eq. 6
    critic_lr: float = Field(1e-4, gt=0)
    # Beyond the paper
    lesion_rule: Literal["set", "evidence"] = "set"  # images tagged lesion: by the set's thresholds, or one by one
    # with local evidence, where the segmenter alone cannot be believed (transfer/evidence.py)
    lesion_labeller: LesionLabeller = (
        "judge"  # whom about them: the segmenter alone, local evidence, or whoever the first pass finds
    )
    image_portion: tuple[float, float] = (0.5, 0.9)  # of both sides of such an image, in the first and last pass
    handover: float = Field(0.5, ge=0, le=1)  # how far the segmenter has replaced local evidence in the end
    evidence_steps: int = Field(400, ge=1)  # before all others, on a linear layer alone
    evidence_lr: float = Field(0.03, gt=0)
    evidence_spread: int = Field(STEPS, ge=0)  # steps of its scores among neighbours of like colour; for 32 x 32 places
    false_alarms: float = Field(FALSE_ALARMS, gt=0, lt=1)  # of normal images' places that may look like a lesion
    target_balance: Literal["pixels", "tags"] = "pixels"  # in L_S of the target: a say for each pixel, or kind of image
    # (where there is local evidence and the segmenter is believed without it: pixels)
    tag_head_weight: float = Field(1.0, ge=0)  # of S1's loss on the target's tags, Eq. 2, where there is local evidence
    tag_rule: Literal["none", "veto", "fill_normal"] = "none"
    tag_weight: float = Field(0.0, ge=0)  # of the loss on pixels by tags, where there is no local evidence
    missed_weight: float = Field(0.0, ge=0)  # of the loss on tagged lesions that hardly show, where there is local
    # evidence and the segmenter is believed without it
    teacher_momentum: float | None = Field(None, ge=0, lt=1)  # None: no teacher


class SemanticTransfer(Method):
    name = "semantic_transfer"
    summary = "the paper: class-balanced super-pixel pseudo-labels, centroid alignment, adversarial output (Ours)"
    phases: ClassVar[dict[str, tuple[str, ...]]] = {"net": ("segmenter",), "critic": ("critic",)}
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        # PAPER: eta 0.3 is 300 times the weight that LtA found to work; mu 10 on a summed history drowns all else.
        "robust": {
            "eta": 0.001,
            "mu": 0.01,
            "untagged_mu": 0.0001,
            "untagged_warmup": 0.5,
            "voting": "synchronous",
            "centroid_average": "class_pixels",
            "centroid_history": "moving_average",
            "lesion_rule": "evidence",
            "target_balance": "tags",
            "tag_head_weight": 0.01,
            "tag_rule": "fill_normal",
            "tag_weight": 0.1,
            "missed_weight": 0.03,
            "teacher_momentum": 0.99,
        },
        "paper": {},
    }
    # Table 2 and the lower halves of Tables 3 and 4; each switches off what its name does not list.
    variants: ClassVar[dict[str, dict[str, Any]]] = {
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
    source_centroids: Centroids
    target_centroids: Centroids
    teacher: MeanTeacher
    view: LocalView
    local: LocalHead
    verdict: LabellerChoice

    def networks(self) -> dict[str, nn.Module]:
        segmenter, config = self.plain_segmenter(), self.config
        networks: dict[str, nn.Module] = {"segmenter": segmenter}
        if config.eta:
            networks["critic"] = Discriminator(self.task.classes)
        if self.centroid_weight:
            for domain in ("source", "target"):
                networks[f"{domain}_centroids"] = Centroids(
                    self.task.classes, segmenter.feature_channels, config.gamma,
                    average=config.centroid_average, history=config.centroid_history,
                )  # fmt: skip
        if config.teacher_momentum is not None:
            networks["teacher"] = MeanTeacher(segmenter, config.teacher_momentum)
        if self.uses_evidence:
            view = LocalView(self.task.model)
            networks |= {
                "view": view,
                "local": LocalHead(view.channels),
                "verdict": LabellerChoice(config.lesion_labeller),
            }
        else:
            refuse_without_evidence(config.lesion_labeller)
        return networks

    @property
    def centroid_weight(self) -> float:
        """mu of Eq. 1.  Without tags nothing holds the rare classes of many against a pull on their few pixels."""
        bound = None if self.task.tags else self.config.untagged_mu
        return self.config.mu if bound is None else min(self.config.mu, bound)

    @property
    def uses_evidence(self) -> bool:
        """Local features that nobody has trained are no scorer: without pretrained weights the segmenter is alone."""
        config, model = self.config, self.task.model
        taught = model.pretrained or model.weights is not None
        return config.lesion_rule == "evidence" and config.pseudo_labels and self.task.tags and taught

    def stages(self) -> list[Stage]:
        config, wanted = self.config, self.config.warmup_epochs
        if not self.task.tags:  # nothing but the segmenter says what is where: a class it does not know yet is lost
            wanted = max(wanted, round(config.untagged_warmup * self.task.epochs))
        warmup = min(wanted, self.task.epochs - 1)
        phases = ("net", "critic") if config.eta else ("net",)
        transfer = Stage("transfer", self.task.epochs - warmup, phases, target_pass=config.pseudo_labels)
        return [Stage("warm-up", warmup, target=False), transfer] if warmup else [transfer]

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        """Local evidence, before the first step: source masks and target tags teach it (transfer/local_layer.py)."""
        if not self.uses_evidence:
            return
        assert target is not None
        self.verdict.check(target)
        seen = source_examples(self.view, source, len(source)), target_examples(self.view, target)
        with torch.autocast(next(self.parameters()).device.type, enabled=False):
            self.local.teach(*fit(*seen, self.config.evidence_steps, self.config.evidence_lr))

    def optimiser(self, phase: str) -> Optimizer | None:
        if phase == "critic":
            return Adam(self.critic.parameters(), lr=self.config.critic_lr, betas=(0.9, 0.99))
        return None

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """Algorithms 1 and 2 over the target set.  PAPER: once an epoch, not in every iteration as in Algorithm 3."""
        config = self.config
        share = portion(self.progress.stage_epoch, config.portion_start, config.portion_step, config.portion_stop)
        device, evidence = next(self.parameters()).device, self._evidence()
        summary = label_target_set(
            self._predict, target, self.task.classes, share, balanced=config.class_balance,
            voting=config.voting, iterations=config.voting_iterations, tag_rule=config.tag_rule,
            evidence=evidence, device=device,
        )  # fmt: skip
        if evidence is None:
            return summary.figures()
        self.verdict.take(evidence, self.progress.stage_epoch)
        return summary.figures() | evidence.figures()

    def _evidence(self) -> LocalLabeller | None:
        """Both scorers of where a tagged lesion is; None: the set's thresholds decide."""
        if not self.uses_evidence:
            return None
        passed = self.progress.stage_epoch / max(1, self.stages()[-1].epochs - 1)
        first, last = self.config.image_portion
        return LocalLabeller(
            self._look_locally, passed * self.config.handover, self.verdict.before(self.progress.stage_epoch),
            next(self.parameters()).device, first + passed * (last - first), self.config.false_alarms,
        )  # fmt: skip

    def _look_locally(self, images: Tensor) -> Tensor:
        scores = self.local(self.view(images))
        return spread(scores, images, steps_for(scores, self.config.evidence_spread))

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "critic":
            scores = self.critic(torch.cat([memo["source"], memo["target"]]))
            return {"critic": critic_loss(*scores.split([len(memo["source"]), len(memo["target"])]))}
        source, target = batch.source, batch.target
        assert source is not None
        if target is None:  # warm-up
            output = self.segmenter(source.images, domain="source")
            return source_terms(source, output, reduction=self.config.reduction)
        source_output, target_output = self.forward_both(source.images, target.images)
        source_logits = source_output.at(source.images.shape[-2:])
        target_logits = target_output.at(target.images.shape[-2:])
        terms = source_terms(source, source_output, source_logits, self.config.reduction)
        terms |= self._target_terms(target, target_output, target_logits)
        if self.config.eta:
            memo["source"] = source_logits.detach().softmax(1)
            probabilities = target_logits.softmax(1)
            memo["target"] = probabilities.detach()
            terms["adversarial"] = self.config.eta * fooling_loss(self.critic(probabilities))
        if self.centroid_weight:
            aligned = self._alignment(source, source_output, target, target_output)
            terms["centroids"] = self.centroid_weight * aligned
        return terms

    def findings(self) -> dict[str, Any]:
        return self.verdict.findings() if self.uses_evidence else {}

    def kept_channels(self) -> int:
        return self.task.classes + self.uses_evidence

    def wants_superpixels(self) -> bool:
        return self.config.pseudo_labels and self.config.voting != "none"

    def after_step(self) -> None:
        if self.config.teacher_momentum is not None:
            self.teacher.update(self.segmenter, self.progress.step)

    def predictor(self) -> nn.Module:
        return self.segmenter if self.config.teacher_momentum is None else self.teacher.module

    def _predict(self, images: Tensor) -> SegOutput:
        return self.predictor()(images, domain="target")

    def _target_terms(self, target: TargetBatch, output: SegOutput, logits: Tensor) -> dict[str, Tensor]:
        """The target halves of Eqs. 2 and 3, and what tags say of pixels (with local evidence: of missed lesions)."""
        config, terms = self.config, {}
        if target.stored is not None:
            terms["segmentation_target"] = self._on_pseudo_labels(logits, target.stored, target.tags)
        # What makes a whole network tell the tags makes it paint whole images.  Features from scratch have no other
        # teacher in the target; where local evidence says where the lesion is, S1 learns the tags for itself.
        weight = config.tag_head_weight if self.uses_evidence else 1.0
        terms |= {name: weight * term for name, term in target_tag_term(target, output).items()}
        # Where nothing else says what a lesion is, the tag loss teaches it.  Beside local evidence it only makes the
        # network paint more and more in every image tagged lesion.
        if not self.uses_evidence:
            return terms | pixel_tag_term(config.tag_weight, target, logits)
        # A believed segmenter is taught by the pixels that it is sure of, and would lose small lesions without this.
        return terms | missed_term(config.missed_weight, target, logits, self.verdict.trust)

    def _on_pseudo_labels(self, logits: Tensor, labels: Tensor, tags: Tensor | None) -> Tensor:
        """The target's half of Eq. 3: logits [B, K, H, W], labels [B, H, W], tags [B]."""
        if self.config.target_balance == "pixels" or tags is None:
            return segmentation(logits, labels, self.config.reduction)
        by_tag = segmentation_by_tag(logits, labels, tags)
        if not self.uses_evidence:
            return by_tag
        # Labels by the set's thresholds: there a say for each kind of image was measured to paint too much.
        return torch.lerp(by_tag, segmentation(logits, labels, self.config.reduction), self.verdict.trust)

    def _alignment(
        self, source: SourceBatch, source_output: SegOutput, target: TargetBatch, target_output: SegOutput
    ) -> Tensor:
        """Algorithm 3 and Eq. 7 at the features' own resolution.

        PAPER: Algorithm 3 as printed returns the loss without ever adding Eq. 7; it is added here.
        """
        size = target_output.features.shape[-2:]
        # Without pseudo-labels (BL+AL+SRT) the plain prediction says which pixel is of which class.
        labels = target_output.logits.argmax(1) if target.stored is None else labels_at(target.stored, size)
        masked = source_output.features[: len(source.masks)]
        source_now = class_sums(masked, labels_at(source.masks, size), self.task.classes)
        target_now = class_sums(target_output.features, labels, self.task.classes)
        source_centroids = self.source_centroids(*source_now, masked[:, 0].numel())
        target_centroids = self.target_centroids(*target_now, labels.numel())
        both = self.source_centroids.seen & self.target_centroids.seen  # a class never shown has no centroid
        present = both if self.config.centroid_average == "class_pixels" else None
        return alignment(source_centroids, target_centroids, self.config.alpha, present)
