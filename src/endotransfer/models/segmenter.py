"""The network that is trained and that predicts: backbone, S1 (image tag), S2 (pixels), S2 refined by S1."""

import torch
from torch import Tensor, nn

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.models.backbone import Backbone, build_backbone
from endotransfer.models.heads import ASPP, Refinement, TagHead
from endotransfer.models.normalisation import PerDomainBatchNorm, domain_layers, set_domain


class Segmenter(nn.Module):
    """Images [B, 3, H, W] in [0, 1] -> SegOutput with logits [B, K, H / 8, W / 8]; any H and W from 32 up."""

    mean: Tensor
    std: Tensor

    def __init__(self, backbone: Backbone, aspp: ASPP, classes: int, tags: bool) -> None:
        super().__init__()
        # Buffers travel with the weights, so a checkpoint is always fed the colours it was trained on.
        self.register_buffer("mean", torch.tensor(backbone.mean)[:, None, None])
        self.register_buffer("std", torch.tensor(backbone.std)[:, None, None])
        self.backbone = backbone
        self.aspp = aspp
        self.feature_channels = aspp.channels  # of SegOutput.features
        self.pixel_classifier = nn.Conv2d(aspp.channels, classes, 1)
        self.tag_head = TagHead(backbone.channels) if tags else None
        self.refinement = Refinement(classes) if tags else None
        self._found: tuple[Backbone, list[PerDomainBatchNorm]] | None = None

    @property
    def notes(self) -> list[str]:
        """What was decided on the user's behalf while building; worth a line in the log."""
        return self.backbone.notes

    def _domain_layers(self) -> list[PerDomainBatchNorm]:
        # Found once: walking all modules in every forward costs a GPU more than a layer does.  (Not in __init__: a
        # deep copy, such as a teacher, must find its own.)
        if self._found is None or self._found[0] is not self.backbone:
            self._found = (self.backbone, domain_layers(self))
        return self._found[1]

    def forward(self, images: Tensor, domain: str = "source") -> SegOutput:
        """`domain` chooses the statistics where normalisation keeps them per domain; it changes nothing else."""
        set_domain(self._domain_layers(), domain)
        features = self.backbone((images - self.mean) / self.std)[-1]
        seen = self.aspp(features)
        logits = self.pixel_classifier(seen)
        if self.tag_head is None or self.refinement is None:
            return SegOutput(logits, None, seen)
        tag_logits = self.tag_head(features)
        return SegOutput(self.refinement(logits, tag_logits), tag_logits, seen)


def build_segmenter(model: ModelConfig, classes: int, tags: bool, *, trained: bool = False) -> Segmenter:
    """The segmenter that an experiment asks for; `trained` where a checkpoint is about to fill it."""
    backbone = build_backbone(
        model.backbone,
        pretrained=model.pretrained,
        weights=model.weights,
        multi_grid=model.multi_grid,
        norm=model.norm,
        stride_on=model.stride_on,
        trained=trained,
    )
    aspp = ASPP(backbone.channels, model.aspp_channels, model.aspp_rates, model.norm, model.dropout)
    return Segmenter(backbone, aspp, classes, tags)
