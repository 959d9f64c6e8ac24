"""How often a critic has been right of late: the gate of CyCADA's feature stage (and ADDA's)."""

import torch
from torch import Tensor, nn

from endotransfer.distributed import sum_over_processes


class RunningAccuracy(nn.Module):
    """The mean over the last `steps` steps of a critic's share of right decisions.  Its state is in `state_dict`."""

    window: Tensor  # [steps], a ring
    seen: Tensor  # int64: steps since the start

    def __init__(self, steps: int = 100) -> None:
        super().__init__()
        self.register_buffer("window", torch.zeros(steps))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def update(self, score_source: Tensor, score_target: Tensor) -> None:
        """One step's logits of "is target", of any shape; right are negative ones on source, positive on target."""
        right = (score_source < 0).sum() + (score_target > 0).sum()
        decisions = right.new_full((), score_source.numel() + score_target.numel())
        right, decisions = sum_over_processes(torch.stack([right, decisions])).to(self.window.dtype)
        # By a tensor's index: a plain number would have to be fetched from the GPU.
        self.window.index_copy_(0, (self.seen % len(self.window)).view(1), (right / decisions).view(1))
        self.seen += 1

    def value(self) -> Tensor:
        """In [0, 1]; 0 before the first step."""
        return self.window.sum() / self.seen.clamp(1, len(self.window))
