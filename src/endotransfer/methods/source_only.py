"""Source only: the paper's baseline BL (DeepLab-v3), trained on the labelled domain and applied to the other as it is.

It never forwards a target image, so not even a statistic adapts; a row with adapted statistics is another system.
"""

from typing import ClassVar

from torch import Tensor

from endotransfer.batch import Batch
from endotransfer.losses.supervised_terms import source_terms
from endotransfer.methods.base import DomainName, Memo, Method
from endotransfer.methods.task import Needs


class SourceOnly(Method):
    name = "source_only"
    summary = "the baseline (BL): trained on source masks and tags, never sees a target image"
    needs = Needs(target=False)
    records_steps = True
    predict_as: ClassVar[DomainName] = "source"  # with statistics per domain, the other set was never trained

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        source = batch.source
        assert source is not None
        return source_terms(source, self.segmenter(source.images, domain=self.predict_as))
