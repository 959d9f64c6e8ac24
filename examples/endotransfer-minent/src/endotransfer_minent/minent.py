"""MinEnt: confident predictions on the target (Vu et al., "ADVENT", CVPR 2019, their MinEnt), on a small network."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import Batch
from endotransfer.config import RawConfig, Strict
from endotransfer.losses.entropy import mean_entropy
from endotransfer.losses.supervised_terms import source_terms, target_tag_term
from endotransfer.methods.base import Memo, Method
from endotransfer_minent.small_segmenter import SmallSegmenterSpec


class MinEntConfig(Strict):
    weight: float = Field(0.001, ge=0)  # of the target's entropy
    width: int = Field(16, ge=1)  # channels of the first layer


class MinEnt(Method):
    name = "minent_small"
    summary = "entropy minimisation on a small network of its own (from the package endotransfer-minent)"
    presets: ClassVar[dict[str, RawConfig]] = {"default": {}, "strong": {"weight": 0.1}}
    Config: ClassVar[type[Strict]] = MinEntConfig
    config: MinEntConfig

    def networks(self) -> dict[str, nn.Module]:
        spec = SmallSegmenterSpec(classes=self.task.classes, tags=self.task.tags, width=self.config.width)
        return {"segmenter": spec.build()}

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source, target = batch.source, batch.target
        assert source is not None and target is not None
        on_source, on_target = self.forward_both(source.images, target.images)
        terms = source_terms(source, on_source) | target_tag_term(target, on_target)
        return terms | {"entropy_target": self.config.weight * mean_entropy(on_target.logits)}
