"""The network that is trained and that predicts: backbone, S1 (image tag), S2 (pixels), S2 refined by S1."""

from pydantic import Field
from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.models.backbones.backbone import Backbone, backbone_of, empty_backbone
from endotransfer.models.backbones.families import settled_model
from endotransfer.models.backbones.on_backbone import OnBackbone
from endotransfer.models.heads import Refinement, TagHead
from endotransfer.models.network_spec import Architecture, NetworkSpec
from endotransfer.models.pixel_heads import pixel_head, seen_by
from endotransfer.models.segmenters.recordable import Recordable


class SegmenterSpec(NetworkSpec):
    kind = "segmenter"

    model: Architecture
    classes: int = Field(ge=2)
    tags: bool

    def build(self) -> "Segmenter":
        return Segmenter(empty_backbone(self.model), self.model, self.classes, self.tags)


class Segmenter(Recordable, OnBackbone):
    """Images [B, 3, H, W] in [0, 1] -> SegOutput with logits [B, K, H / 8, W / 8]; any H and W from 32 up."""

    def __init__(self, backbone: Backbone, model: ModelConfig, classes: int, tags: bool) -> None:
        super().__init__(backbone)
        model = settled_model(model)
        self.spec = SegmenterSpec(model=model, classes=classes, tags=tags)
        # Whatever body `model.head` asks for: checkpoints know it by the name of the first one.
        self.aspp, self.pixel_classifier = pixel_head(model, backbone.stages, backbone.strides, classes)
        self.feature_channels = self.aspp.channels  # of SegOutput.features
        self.tag_head = TagHead(backbone.channels) if tags else None
        self.refinement = Refinement(classes) if tags else None

    def compute(self, images: Tensor, domain: str = "source") -> SegOutput:
        self.enter(domain)
        return self.heads(self.stages(images))

    def heads(self, maps: list[Tensor]) -> SegOutput:
        """What S1 makes of the backbone's last map [B, C, h, w], and S2 of that one or of all."""
        seen = seen_by(self.aspp, maps)
        logits = self.pixel_classifier(seen)
        if self.tag_head is None or self.refinement is None:
            return SegOutput(logits, None, seen)
        tag_logits = self.tag_head(maps[-1])
        return SegOutput(self.refinement(logits, tag_logits), tag_logits, seen)


def build_segmenter(model: ModelConfig, classes: int, tags: bool) -> Segmenter:
    """The segmenter that an experiment asks for."""
    return Segmenter(backbone_of(model), model, classes, tags)
