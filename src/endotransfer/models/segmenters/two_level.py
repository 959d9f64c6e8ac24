"""A segmenter with a second pixel classifier, on the stage before the last, as LtA and ADVENT train it.

Designed here: the second classifier has the form of the first (`model.head`), as in LtA, where both are the same
module; S1 and its refinement stay with the first, because only the first predicts.  On a pyramid the second sees all
maps but the last.
"""

from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.models.backbones.families import settled_model
from endotransfer.models.backbones.on_backbone import DomainAware
from endotransfer.models.network_spec import NetworkSpec
from endotransfer.models.pixel_heads import pixel_head, seen_by
from endotransfer.models.segmenters.recordable import Recordable
from endotransfer.models.segmenters.segmenter import Segmenter, SegmenterSpec


class TwoLevelSpec(NetworkSpec):
    kind = "two_level"

    segmenter: SegmenterSpec

    def build(self) -> "TwoLevelSegmenter":
        return TwoLevelSegmenter(self.segmenter.build(), self.segmenter.model)


class TwoLevelSegmenter(Recordable, DomainAware):
    """Images [B, 3, H, W] -> what `segmenter` returns, and aux["logits"] [B, K, h, w] from its second-last stage."""

    def __init__(self, segmenter: Segmenter, model: ModelConfig) -> None:
        super().__init__()
        self.segmenter = segmenter
        self.spec = TwoLevelSpec(segmenter=segmenter.spec)
        self.feature_channels = segmenter.feature_channels
        stages, strides = segmenter.backbone.stages[:-1], segmenter.backbone.strides[:-1]
        classes = segmenter.pixel_classifier.out_channels
        self.aux_aspp, self.aux_classifier = pixel_head(settled_model(model), stages, strides, classes)

    @property
    def notes(self) -> list[str]:
        return self.segmenter.notes

    def compute(self, images: Tensor, domain: str = "source") -> SegOutput:
        """One pass through the backbone feeds both levels."""
        self.enter(domain)
        maps = self.segmenter.stages(images)
        output = self.segmenter.heads(maps)
        output.aux["logits"] = self.aux_classifier(seen_by(self.aux_aspp, maps[:-1]))
        return output
