"""Target supervised: the same network trained on the target's own masks.  Not a competitor but the upper bound."""

from endotransfer.methods.source_only import SourceOnly
from endotransfer.methods.task import Needs


class TargetSupervised(SourceOnly):
    name = "target_supervised"
    summary = "the upper bound: trained on the masks of the target's training split, which no other method may read"
    needs = Needs(target=False, masks_of_target=True)
    records_steps = True
    predict_as = "target"
