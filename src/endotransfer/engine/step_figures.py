"""The figures of an update on their way from the device: a GPU is not waited for before the next step is under way."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim import Optimizer

from endotransfer.engine.finite import stop_unless_finite
from endotransfer.engine.run_folder import RunFolder


@dataclass(frozen=True)
class StepFigures:
    """Every term of `phase` and the norm of its gradient, in step `step` on the images called `keys`."""

    phase: str
    step: int
    terms: tuple[str, ...]
    values: Tensor  # of each term, and the norm; on the host once `arrived`
    arrived: "torch.cuda.Event | None"
    lr: float
    keys: list[str]

    def settle(self, run: RunFolder) -> dict[str, float]:
        """Wait for them; TrainingDiverged where one is not finite, else all that the log has of the update."""
        if self.arrived is not None:  # pragma: needs cuda
            self.arrived.synchronize()
        *means, norm = self.values.tolist()
        terms = dict(zip(self.terms, means, strict=True))
        stop_unless_finite(terms, norm, self.phase, self.step, self.keys, run)
        whole = sum(abs(value) for value in terms.values()) or 1.0
        figures = {f"loss/{self.phase}": sum(terms.values()), f"norm/{self.phase}": norm, f"lr/{self.phase}": self.lr}
        figures |= {f"term/{name}": value for name, value in terms.items()}
        return figures | {f"share/{name}": abs(value) / whole for name, value in terms.items()}


def on_their_way(values: Tensor) -> "tuple[Tensor, torch.cuda.Event | None]":
    """`values` on the host, and what tells when they are; from a processor at once."""
    if not values.is_cuda:
        return values, None
    host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)  # pragma: needs cuda
    host.copy_(values, non_blocking=True)  # pragma: needs cuda
    arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]  # pragma: needs cuda
    arrived.record()  # pragma: needs cuda
    return host, arrived  # pragma: needs cuda


def skip_unless_finite(optimiser: Optimizer, values: Tensor) -> None:
    """Have the GPU leave the weights as they are in this step where one of `values` is not finite.

    What fused optimisers do for a scaler of gradients; any other follows, in a run that is about to be stopped.
    """
    if not optimiser.defaults.get("fused"):
        return
    optimiser.grad_scale = None  # type: ignore[attr-defined]
    optimiser.found_inf = (~values.isfinite().all()).float()  # type: ignore[attr-defined]
