"""A network that is a linear layer on local features and nothing else: what `local_layer` predicts with."""

import math

import torch
from torch import Tensor, nn

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.models.backbones.backbone import shallow_norm
from endotransfer.models.local_features import LocalFeatures, LocalScorer
from endotransfer.models.network_spec import Architecture, NetworkSpec

SMALLEST_LESION = 0.02  # of an image: its tag is judged by the likeliest places that such a lesion would fill


class LocalSegmenterSpec(NetworkSpec):
    kind = "local_layer"

    model: Architecture
    norm: str  # of the backbone's first stages: the weights that decided it are not known any more

    def build(self) -> "LocalSegmenter":
        return LocalSegmenter(LocalFeatures(self.model, self.norm), self)


class LocalSegmenter(nn.Module):
    """Images [B, 3, H, W] -> SegOutput with logits [B, 2, H / 8, W / 8]: 0 for normal, score - limit for lesion.

    features: the descriptions [B, C, H / 8, W / 8].  No domain has statistics of its own here.
    """

    limit: Tensor  # the score from which on a place is called lesion

    def __init__(self, descriptor: LocalFeatures, spec: LocalSegmenterSpec) -> None:
        super().__init__()
        self.spec = spec
        self.feature_channels = descriptor.channels
        self.descriptor = descriptor
        self.scorer = LocalScorer(descriptor.channels)
        self.register_buffer("limit", torch.zeros(()))

    @property
    def notes(self) -> list[str]:
        return self.descriptor.notes

    def scores(self, images: Tensor) -> Tensor:
        """How much each place looks like a lesion, before the limit is taken off: [B, H / 8, W / 8]."""
        scores: Tensor = self.scorer(self.descriptor(images))
        return scores

    def forward(self, images: Tensor, domain: str = "source") -> SegOutput:
        described = self.descriptor(images)
        lesion = self.scorer(described) - self.limit
        return SegOutput(_against_nothing(lesion), _against_nothing(_likeliest(lesion)), described)


def _likeliest(lesion: Tensor) -> Tensor:
    """The mean of the places [B, h, w] that the smallest lesion would fill: [B]."""
    places = lesion.flatten(1)
    return places.topk(max(1, math.ceil(SMALLEST_LESION * places.shape[1]))).values.mean(1)


def _against_nothing(logit: Tensor) -> Tensor:
    """The logit of lesion [B, ...] beside a 0 for normal: [B, 2, ...]."""
    return torch.stack([torch.zeros_like(logit), logit], dim=1)


def build_local_segmenter(model: ModelConfig) -> LocalSegmenter:
    return LocalSegmenter(LocalFeatures(model), LocalSegmenterSpec(model=model, norm=shallow_norm(model)))
