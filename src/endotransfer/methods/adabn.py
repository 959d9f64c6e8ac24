"""AdaBN: Li, Wang, Shi, Hou, Liu, "Adaptive Batch Normalization for Practical Domain Adaptation", Pattern Recognition
2018 (first as "Revisiting Batch Normalization for Practical Domain Adaptation", 2016).

Faithful: the network is trained on the source alone; then every running mean and variance of its BatchNorm layers is
estimated anew over the whole target set, and nothing else changes.
Designed here: one pass for all layers, with a cumulative average in which every value counts the same; while it runs a
layer normalises by the batch at hand (one pass a layer would be exact and cost as many passes as there are layers).
With statistics per domain the source keeps its own, and the target's are those that are estimated and used.
Left out: tags of the target, since no target image is forwarded before the pass, and the pass trains nothing.
"""

from torch import Tensor

from endotransfer.batch import Batch
from endotransfer.losses.supervised_terms import source_terms
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Needs, Stage
from endotransfer.models.backbones.reestimation import reestimate
from endotransfer.pseudo_labels.target_set import TargetSet


class AdaBN(Method):
    name = "adabn"
    summary = "AdaBN: trained on the source; then BatchNorm's statistics are those of the target set"
    needs = Needs(live_statistics=True)

    def stages(self) -> list[Stage]:
        statistics = Stage("statistics", 1, phases=(), target=False, target_pass=True)
        return [Stage("train", self.task.epochs, target=False), statistics]

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source = batch.source
        assert source is not None
        return source_terms(source, self.segmenter(source.images, domain="source"))

    def target_pass(self, target: TargetSet) -> dict[str, float]:
        images = (batch.images for batch in target)
        return {"layers": reestimate(self.predictor(), self.predict_target, images, "target")}

    def after_step(self) -> None:
        if self.progress.stage != "statistics":  # a teacher's statistics are the target's now, and stay so
            super().after_step()
