"""Local layer: what `tag_transfer` knows before its first step, as a system of its own.  A control, not a competitor.

A linear layer on local features of the frozen, pretrained backbone learns from source masks and target tags
(pseudo_labels/local_layer.py); no network is trained.  Whatever `tag_transfer` gains over this row its segmenter
learnt, not its tags.  A place is called lesion where its score exceeds the limit that 0.3 % of the places of normal
target images exceed, as in `tag_transfer`'s first labels (0 where no target image is tagged normal).
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import NORMAL, Batch, SourceSet
from endotransfer.config import Strict
from endotransfer.errors import ConfigError
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Needs, Stage
from endotransfer.models.segmenters.local_segmenter import LocalSegmenter, build_local_segmenter
from endotransfer.pseudo_labels.local_labeller import FALSE_ALARMS
from endotransfer.pseudo_labels.local_layer import fit, source_examples, target_examples
from endotransfer.pseudo_labels.score_histogram import ScoreHistogram
from endotransfer.pseudo_labels.target_set import TargetSet


class LocalLayerConfig(Strict):
    local_steps: int = Field(400, ge=1)  # of training the layer
    false_alarms: float = Field(FALSE_ALARMS, ge=0, lt=1)  # share of the places of normal images above the limit


class LocalLayer(Method):
    name = "local_layer"
    summary = "a control: tag_transfer's linear layer on local features alone; no network is trained"
    needs = Needs(tags=True)
    phases: ClassVar[dict[str, tuple[str, ...]]] = {}
    Config: ClassVar[type[Strict]] = LocalLayerConfig
    config: LocalLayerConfig
    segmenter: LocalSegmenter

    def networks(self) -> dict[str, nn.Module]:
        if self.task.classes != 2:
            raise ConfigError(
                f"method local_layer tells lesion from normal, and the data have {self.task.classes} classes; "
                "choose another method, or give classes.yaml two."
            )
        return {"segmenter": build_local_segmenter(self.task.model)}

    def stages(self) -> list[Stage]:
        return [Stage("limit", 1, phases=(), target=False, target_pass=True)]

    def prepare(self, source: SourceSet, target: TargetSet | None) -> None:
        """Teach the layer."""
        assert target is not None
        view = self.segmenter.descriptor
        seen = source_examples(view, source, len(source)), target_examples(view, target)
        with torch.autocast(self.device.type, enabled=False):
            self.segmenter.scorer.teach(*fit(*seen, self.config.local_steps))

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        """Set the limit by the normal images of the whole set."""
        on_normal = ScoreHistogram(self.device)
        for batch in target:
            assert batch.tags is not None
            on_normal.add(self.segmenter.scores(batch.images), batch.tags.to(self.device) == NORMAL)
        on_normal.reduce_over_processes()
        places = on_normal.counts.sum()
        self.segmenter.limit.copy_(torch.where(places > 0, on_normal.exceeded_by(self.config.false_alarms), 0.0))
        return {"local_limit": float(self.segmenter.limit), "normal_places": float(places)}

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        raise AssertionError("no phase trains anything")
