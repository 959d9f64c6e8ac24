"""A linear classifier of super-pixels, learnt from the source alone: who labels CL's landmarks."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from endotransfer.pseudo_labels.log_odds import log_odds

SHRINKAGE = 0.03  # of the covariance towards a multiple of the identity, in units of its mean variance
NEVER = -1e4  # the score of a class that the source does not show


class RegionClassifier(nn.Module):
    """Descriptions [..., C] of super-pixels -> log-odds [..., K] of each class.  Its state is in `state_dict`.

    Linear discriminant analysis, in closed form: no seed, no step size, and every example counts.  The logarithm of
    class k's probability is, up to a constant, x . Sigma^-1 mu_k - mu_k . Sigma^-1 mu_k / 2, with Sigma the covariance
    within classes.  Classes are equally likely: a classifier that knows how rare lesions are hardly ever names one.
    """

    weights: Tensor  # [K, C]
    offsets: Tensor  # [K]

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("weights", torch.zeros(classes, channels))
        self.register_buffer("offsets", torch.zeros(classes))

    def fit(self, examples: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Descriptions [N, C] and their classes [N] (any other number: passed over), the same in every process."""
        classes, channels = self.weights.shape
        counts, sums, squares = (
            self.weights.new_zeros(shape, dtype=torch.float64)
            for shape in ((classes, 1), (classes, channels), (channels, channels))
        )
        for described, labels in examples:
            member = (labels[:, None] == torch.arange(classes, device=labels.device)).double()
            some = described.double() * member.sum(1, keepdim=True)
            counts += member.sum(0)[:, None]
            sums += member.T @ some
            squares += some.T @ some
        self._solve(counts, sums, squares)

    def _solve(self, counts: Tensor, sums: Tensor, squares: Tensor) -> None:
        """From the number [K, 1] and the sum [K, C] of each class's examples, and all their outer products [C, C]."""
        means = sums / counts.clamp(min=1)
        covariance = (squares - means.T @ sums) / counts.sum().clamp(min=1)
        covariance.diagonal().add_(SHRINKAGE * covariance.diagonal().mean().clamp(min=1e-12))
        weights = torch.linalg.solve(covariance, means.T).T
        self.weights.copy_(weights)
        self.offsets.copy_(torch.where(counts[:, 0] > 0, -0.5 * (weights * means).sum(1), NEVER))

    @torch.no_grad()
    def forward(self, described: Tensor) -> Tensor:
        """Log-odds, since two super-pixels that are both certain are to be told apart."""
        with torch.autocast(described.device.type, enabled=False):
            scores = described.to(self.weights.dtype) @ self.weights.T + self.offsets
            return log_odds(scores.flatten(0, -2)).view(scores.shape)
