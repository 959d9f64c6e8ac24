"""A segmenter that also shows its backbone's last map, for methods that compare it with another network's."""

from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.models.backbones.backbone import backbone_of
from endotransfer.models.segmenters.segmenter import Segmenter


class OpenSegmenter(Segmenter):
    """As `Segmenter`, by whose spec it is saved; aux["backbone"] is the last map [B, C, h, w]."""

    def heads(self, maps: list[Tensor]) -> SegOutput:
        output = super().heads(maps)
        output.aux["backbone"] = maps[-1]
        return output


def build_open_segmenter(model: ModelConfig, classes: int, tags: bool) -> OpenSegmenter:
    return OpenSegmenter(backbone_of(model), model, classes, tags)
