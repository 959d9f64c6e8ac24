"""From an image's descriptor to its label distribution: ridge regression on the source, asked about the target."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from endotransfer.batch import LESION, NORMAL
from endotransfer.distributed import sum_over_processes

FARTHEST = 3.0  # standard deviations: beyond what was seen, the regression is not extrapolated
SMALLEST_STD = 1e-4
ANY_IMAGE, WITH_LESION = 0, 1  # the two fits


def ridge(inputs: Tensor, outputs: Tensor, strength: float) -> tuple[Tensor, Tensor]:
    """Inputs [N, D], outputs [N, K] -> weights [D, K] and offset [K] of outputs ~ inputs @ weights + offset.

    The penalty is `strength` times the inputs' mean variance, whatever their scale.
    """
    centre, offset = inputs.mean(0), outputs.mean(0)
    centred = inputs - centre
    covariance = centred.T @ centred / len(inputs)
    penalty = strength * covariance.diagonal().mean().clamp(min=1e-12)
    identity = torch.eye(len(covariance), dtype=inputs.dtype, device=inputs.device)
    weights = torch.linalg.solve(covariance + penalty * identity, centred.T @ (outputs - offset) / len(inputs))
    return weights, offset - centre @ weights


class DistributionRegression(nn.Module):
    """Descriptors [B, D] of target images -> label distributions [B, K].  Its state is in `state_dict`.

    Each domain's descriptors are standardised by their own mean and deviation: the plainest way to take out what makes
    the domains differ as wholes, without which the regression is worse than a constant.
    A second fit, on source images with a lesion, serves target images that are tagged so.
    """

    centre: Tensor  # [D], of the target
    scale: Tensor  # [D]
    weights: Tensor  # [2, D, K]
    offsets: Tensor  # [2, K]

    def __init__(self, descriptor: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(descriptor))
        self.register_buffer("scale", torch.ones(descriptor))
        self.register_buffer("weights", torch.zeros(2, descriptor, classes))
        self.register_buffer("offsets", torch.full((2, classes), 1 / classes))

    def fit(self, source: Tensor, distributions: Tensor, target: Iterable[Tensor], strength: float) -> None:
        """Source descriptors [N, D] and distributions [N, K], the same in every process; `target`: this one's batches.

        Images without a labelled pixel (distribution 0) are passed over.
        """
        with torch.autocast(source.device.type, enabled=False):
            labelled = distributions.sum(1) > 0
            inputs, outputs = source[labelled].double(), distributions[labelled].double()
            inputs = standardised(inputs, *_moments([inputs], len(self.centre), inputs.device, together=False))
            lesion = outputs[:, NORMAL] < 1
            for fit, chosen in ((ANY_IMAGE, slice(None)), (WITH_LESION, lesion if lesion.any() else slice(None))):
                weights, offset = ridge(inputs[chosen], outputs[chosen], strength)
                self.weights[fit], self.offsets[fit] = weights, offset
            self.centre[:], self.scale[:] = _moments(target, len(self.centre), source.device, together=True)

    @torch.no_grad()
    def forward(self, descriptors: Tensor, tags: Tensor | None = None) -> Tensor:
        """What tags [B] say comes first: an image tagged normal is normal all over."""
        with torch.autocast(descriptors.device.type, enabled=False):
            inputs = standardised(descriptors.to(self.centre.dtype), self.centre, self.scale)
            found = _shares(inputs @ self.weights[ANY_IMAGE] + self.offsets[ANY_IMAGE])
            if tags is None:
                return found
            ill = _shares(inputs @ self.weights[WITH_LESION] + self.offsets[WITH_LESION])
        normal = torch.zeros_like(found)
        normal[:, NORMAL] = 1
        tag = tags.unsqueeze(1)
        return torch.where(tag == NORMAL, normal, torch.where(tag == LESION, ill, found))


def standardised(descriptors: Tensor, centre: Tensor, scale: Tensor) -> Tensor:
    return ((descriptors - centre) / scale).clamp(-FARTHEST, FARTHEST)


def _moments(batches: Iterable[Tensor], size: int, device: torch.device, *, together: bool) -> tuple[Tensor, Tensor]:
    """Mean and deviation [D] over all batches [n, D], `together` with those of the other processes."""
    sums = torch.zeros(3, size, dtype=torch.float64, device=device)
    for batch in batches:
        values = batch.double()
        sums += torch.stack([torch.ones_like(values[0]) * len(values), values.sum(0), values.square().sum(0)])
    count, total, squares = sum_over_processes(sums) if together else sums
    mean = total / count.clamp(min=1)
    return mean, (squares / count.clamp(min=1) - mean.square()).clamp(min=0).sqrt().clamp(min=SMALLEST_STD)


def _shares(values: Tensor) -> Tensor:
    """Rows that sum to 1, made non-negative; they still sum to 1."""
    positive = values.clamp(min=0)
    return positive / positive.sum(1, keepdim=True)
