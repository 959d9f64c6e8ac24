"""DAFormer's training on the shared network: Hoyer, Dai, Van Gool, "DAFormer: Improving Network Architectures and
Training Strategies for Domain-Adaptive Semantic Segmentation", CVPR 2022.

Faithful: DACS, and three things that keep what ImageNet taught and rare classes need: rare-class sampling of the
source (temperature 0.01); the distance of the backbone's last map to that of the untouched pretrained backbone, in
cells that a thing class covers by three quarters, weight 0.005; a learning rate that rises linearly in the first 1.5k
of 40k steps, here the same share.
Designed here: every class but the first is a thing, so a lesion is (`things` names others); jitter and the teacher's
momentum are those of DACS, since 0.999 is made for runs of 40k steps.  With two classes so low a temperature shows
lesion images alone.  Without pretrained weights there is nothing to stay near, and the distance is left out.
Left out: the transformer, since all rows share a network; ignoring the borders of target images, which is about a car's
bonnet; drawing crops again until the rare class is in them.
"""

from dataclasses import replace
from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import SegOutput, SourceBatch
from endotransfer.config import Strict
from endotransfer.losses.feature_distance import feature_distance, thing_cells
from endotransfer.methods.dacs import Dacs, DacsConfig
from endotransfer.methods.task import TaskInfo
from endotransfer.models.descriptor import FrozenFeatures
from endotransfer.models.segmenters.open_segmenter import build_open_segmenter
from endotransfer.models.segmenters.segmenter import Segmenter

UNTAUGHT = "daformer left out its feature distance: without pretrained weights there are no features to stay near."


class DaformerConfig(DacsConfig):
    temperature: float | None = Field(0.01, gt=0)  # of rare-class sampling; None: images come as in every method
    distance_weight: float = Field(0.005, ge=0)
    things: tuple[int, ...] | None = Field(None, min_length=1)  # classes whose features stay; None: all but the first
    warmup: float = Field(0.0375, ge=0, lt=1)  # share of all steps in which the learning rate rises


class Daformer(Dacs):
    name = "daformer"
    summary = "DAFormer's training: DACS, rare classes first, features near ImageNet's, a slow start"
    Config: ClassVar[type[Strict]] = DaformerConfig
    config: DaformerConfig
    imagenet: FrozenFeatures

    def __init__(self, task: TaskInfo, config: DaformerConfig) -> None:
        super().__init__(task, config)
        self.needs = replace(  # type: ignore[misc]  # a class says what it always needs, this what it was set to
            self.needs, rare_class_temperature=config.temperature, warmup_share=config.warmup
        )

    def plain_segmenter(self) -> Segmenter:
        if not self.stays_near():
            return super().plain_segmenter()
        return build_open_segmenter(self.task.model, self.task.classes, self.task.tags)

    def networks(self) -> dict[str, nn.Module]:
        networks = super().networks()
        segmenter = networks["segmenter"]
        if self.stays_near():
            assert isinstance(segmenter, Segmenter)
            networks["imagenet"] = FrozenFeatures(segmenter)
        return networks

    def source_part(self, source: SourceBatch, output: SegOutput) -> dict[str, Tensor]:
        terms = super().source_part(source, output)
        if not self.stays_near():
            return terms
        masked = len(source.masks)
        things = self.config.things or tuple(range(1, self.task.classes))
        features = output.aux["backbone"][:masked]  # a pyramid's last map is coarser than its logits
        cells = thing_cells(source.masks, features.new_empty(masked, self.task.classes, *features.shape[-2:]), things)
        distance = feature_distance(features, self.imagenet(source.images[:masked]), cells)
        return terms | {"feature_distance": self.config.distance_weight * distance}

    def findings(self) -> dict[str, object]:
        return {"remarks": [UNTAUGHT]} if self.config.distance_weight and not self.taught() else {}

    def stays_near(self) -> bool:
        """Whether there are features to stay near, and a wish to."""
        return self.config.distance_weight > 0 and self.taught()

    def taught(self) -> bool:
        return self.task.model.pretrained or self.task.model.weights is not None
