"""Beyond the paper: the two ways in which `tag_transfer` may label the target set.  A run uses one throughout.

`ThresholdTagLabeller`: thresholds over the whole set (Algorithm 1).  Where features are learnt from scratch nothing
else shows the network what a lesion of the target is, so that the tags supervise S1 in full and pixels directly.

`LocalTagLabeller`: with pretrained features, images tagged lesion are split one by one (local_labeller.py).  What makes
a whole network separate the tags makes it paint whole images, so here the tags act on S1 lightly, and on pixels only
where a segmenter that labels alone misses a lesion.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from endotransfer.batch import SegOutput, SourceSet, TargetBatch
from endotransfer.config import ModelConfig
from endotransfer.losses.cross_entropy import segmentation, segmentation_by_tag
from endotransfer.losses.supervised_terms import missed_term, pixel_tag_term, target_tag_term
from endotransfer.models.local_features import LocalFeatures, LocalScorer
from endotransfer.models.region_encoder import RegionEncoder
from endotransfer.pseudo_labels.labeller_choice import LabellerChoice, LesionLabeller
from endotransfer.pseudo_labels.local_labeller import LocalLabeller
from endotransfer.pseudo_labels.local_layer import source_examples, target_examples
from endotransfer.pseudo_labels.place_prior import PlacePrior, teach_with_places
from endotransfer.pseudo_labels.place_scores import PlaceScores
from endotransfer.pseudo_labels.region_walk import along_regions
from endotransfer.pseudo_labels.target_set import TargetSet

Terms = dict[str, Tensor]
LOCAL_STEPS = 400  # of training the local layer, before all others
IMAGE_PORTION = (0.5, 0.9)  # of both sides of an image tagged lesion that is labelled, in the first and last pass


class TagLabeller(nn.Module):
    """What `tag_transfer` asks of a labeller; the answers here are those of one that needs nothing."""

    def prepare(self, source: SourceSet, target: TargetSet) -> None:
        """Learn from both sets before the first step."""

    def for_pass(self, number: int, passed: float) -> LocalLabeller | None:
        """The image labeller of pass `number`; `passed`: how far the stage is, 0 to 1.  None: thresholds alone."""
        return None

    def take(self, found: LocalLabeller | None, number: int) -> dict[str, float]:
        """Remember what pass `number` found; returns figures for the log."""
        return {}

    def target_terms(self, target: TargetBatch, output: SegOutput, logits: Tensor) -> Terms:
        """The target halves of Eqs. 2 and 3, and what tags say of pixels; logits [B, K, H, W] at the images' size."""
        raise NotImplementedError

    def findings(self) -> dict[str, object]:
        return {}


class ThresholdTagLabeller(TagLabeller):
    def __init__(self, balance_by_tag: bool, tag_weight: float) -> None:
        super().__init__()
        self.balance_by_tag, self.tag_weight = balance_by_tag, tag_weight

    def target_terms(self, target: TargetBatch, output: SegOutput, logits: Tensor) -> Terms:
        terms: Terms = {}
        if target.stored is not None:
            if self.balance_by_tag and target.tags is not None:
                terms["segmentation_target"] = segmentation_by_tag(logits, target.stored, target.tags)
            else:
                terms["segmentation_target"] = segmentation(logits, target.stored)
        return terms | target_tag_term(target, output) | pixel_tag_term(self.tag_weight, target, logits)


@dataclass(frozen=True)
class LocalSettings:
    """Of `LocalTagLabeller`; the fields of the same names of `tag_transfer` say what they mean."""

    lesion_labeller: LesionLabeller
    handover: float
    balance_by_tag: bool
    tag_head_weight: float
    missed_weight: float
    place_prior: PlacePrior


class LocalTagLabeller(TagLabeller):
    def __init__(self, model: ModelConfig, settings: LocalSettings) -> None:
        super().__init__()
        self.settings = settings
        self.features = LocalFeatures(model)
        self.scorer = LocalScorer(self.features.channels)
        self.places = PlaceScores(settings.place_prior)
        self.regions = None if model.region_weights is None else RegionEncoder(model.region_weights)
        self.choice = LabellerChoice(settings.lesion_labeller)

    def prepare(self, source: SourceSet, target: TargetSet) -> None:
        self.choice.check(target)
        seen = source_examples(self.features, source, len(source)), target_examples(self.features, target)
        with torch.autocast(self.choice.tag_auroc.device.type, enabled=False):
            taught = teach_with_places(*seen, LOCAL_STEPS, self.settings.place_prior)
        self.scorer.teach(taught.weight, taught.bias)
        self.places.take(taught)

    def for_pass(self, number: int, passed: float) -> LocalLabeller:
        first, last = IMAGE_PORTION
        return LocalLabeller(
            self.score, passed * self.settings.handover, self.choice.before(number, misled=self.places.misled()),
            self.choice.tag_auroc.device, first + passed * (last - first),
        )  # fmt: skip

    def take(self, found: LocalLabeller | None, number: int) -> dict[str, float]:
        assert found is not None
        self.choice.take(found, number)
        return found.figures()

    def score(self, images: Tensor) -> Tensor:
        """Images [B, 3, H, W] -> how much each place looks like a lesion, [B, H / 8, W / 8]."""
        scores: Tensor = self.places(self.scorer(self.features(images)))
        return scores if self.regions is None else along_regions(scores, self.regions(images, scores.shape[-2:]))

    def target_terms(self, target: TargetBatch, output: SegOutput, logits: Tensor) -> Terms:
        terms: Terms = {}
        if target.stored is not None:
            terms["segmentation_target"] = self._on_labels(logits, target.stored, target.tags)
        weight = self.settings.tag_head_weight
        terms |= {name: weight * term for name, term in target_tag_term(target, output).items()}
        # A segmenter that labels alone learns from the pixels that it is sure of, and would lose small lesions.
        missed = self.settings.missed_weight if self.choice.alone() else 0.0
        return terms | missed_term(missed, target, logits)

    def _on_labels(self, logits: Tensor, labels: Tensor, tags: Tensor | None) -> Tensor:
        # With labels by dataset thresholds, balancing by tag was measured to paint too much.
        if not self.settings.balance_by_tag or tags is None or self.choice.alone():
            return segmentation(logits, labels)
        return segmentation_by_tag(logits, labels, tags)

    def findings(self) -> dict[str, object]:
        return {
            "lesion_labeller": self.choice.figures() | self.places.figures(),
            "remarks": [self.choice.sentence(misled=self.places.misled()), *self.places.sentences()],
        }
