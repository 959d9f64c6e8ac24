"""Algorithm 3 and Equation 7: class centroids that remember earlier steps, and their distance over domains."""

from typing import Literal

import torch
from torch import Tensor, nn

from endotransfer.batch import at_least_float32
from endotransfer.distributed import sum_over_processes, world_size

Average = Literal["all_pixels", "labelled_pixels", "class_pixels"]
History = Literal["sum", "weighted_mean", "moving_average"]
Distance = Literal["sum", "mean"]
Absent = Literal["add_zero", "skip"]


def labels_at(labels: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
    """Labels [B, H, W] at the features' size (h, w): each cell takes the label at its centre."""
    rows, columns = (
        ((torch.arange(cells, device=labels.device) + 0.5) * (pixels / cells)).long()
        for pixels, cells in zip(labels.shape[-2:], size, strict=True)
    )
    return labels[:, rows.unsqueeze(1), columns]


def class_sums(features: Tensor, labels: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Features [B, C, h, w], labels [B, h, w] -> sums [K, C] over the pixels of each class, their counts [K].

    IGNORE belongs to no class.  Half-precision features are summed in float32, inside autocast too.
    """
    members = labels.flatten().unsqueeze(1) == torch.arange(classes, device=labels.device)
    with torch.autocast(features.device.type, enabled=False):
        values = at_least_float32(features)
        sums = members.to(values.dtype).T @ values.movedim(1, -1).flatten(0, 2)
    return sums, members.sum(0)


def global_sum_with_gradient(local: Tensor) -> Tensor:
    """The sum over all processes, whose gradient reaches this process's part.

    The engine averages gradients over processes, so each part's gradient is scaled by their number: the
    average is then the gradient that one process holding all parts would have.
    """
    share = local * world_size()
    return sum_over_processes(local) + (share - share.detach())


class Centroids(nn.Module):
    """The class centroids C_k of one domain with their history (Algorithm 3).  Its state is in `state_dict`.

    average  a class's sum over the number of `all_pixels` (the letter of Algorithm 3), of `labelled_pixels` (of any
             class: an unlabelled pixel says nothing about a class), or of its own `class_pixels`.
    history  `sum`: sum_x gamma^(n-x) C_k^x (the letter); `weighted_mean`: that over sum_x gamma^(n-x);
             `moving_average`: gamma C_k + (1 - gamma) C_k^n, which starts at the first centroid of the class.
    absent   for a class without a pixel in the batch: `add_zero`, as printed and the default, or `skip`, with
             `moving_average` the default: its centroid stays as it is.
    """

    # PAPER: Algorithm 3 divides by all pixels, although most target pixels have no label, and its sum is 1 / (1 -
    # gamma) as long as what "exponentially-weighted" calls an average: with mu = 10 that drowns every other term
    # (docs/paper-to-code.md has both readings measured).  It is silent on the gradient of its history.

    history: Tensor  # [K, C], detached; of `weighted_mean` the sum over past steps, still to be divided
    weight: Tensor  # sum_x gamma^(n-x), what `weighted_mean` divides by
    seen: Tensor  # [K] bool: classes that have had a pixel

    def __init__(
        self,
        classes: int,
        channels: int,
        gamma: float = 0.7,
        *,
        average: Average = "all_pixels",
        history: History = "sum",
        absent: Absent | None = None,
    ) -> None:
        super().__init__()
        self.gamma = gamma
        self.average = average
        self.form = history
        self.absent = absent or ("skip" if history == "moving_average" else "add_zero")
        self.register_buffer("history", torch.zeros(classes, channels))
        self.register_buffer("weight", torch.zeros(()))
        self.register_buffer("seen", torch.zeros(classes, dtype=torch.bool))

    def forward(self, sums: Tensor, counts: Tensor, pixels: int) -> Tensor:
        """This step's centroids [K, C], from this process's sums [K, C], counts [K] and number of pixels.

        Only the newest term carries a gradient; the history is a constant.  Every process gets the same
        centroids.
        """
        counts = sum_over_processes(counts)
        newest = global_sum_with_gradient(sums) / self._divisor(counts, pixels).clamp(min=1)
        present = counts > 0
        # Copies: what is remembered changes in place, for replayed steps, and this graph may still hold the old.
        before, seen = self.history.to(newest.dtype, copy=True), self.seen.clone()
        current = self._join(newest, before, seen)
        # PAPER: an absent class adds a zero in Algorithm 3 (`add_zero`); `skip` leaves its centroid as it was.
        if self.absent == "skip":
            current = torch.where(present.unsqueeze(1), current, before)
        self._remember(current, present)
        return current / self.weight.to(current.dtype, copy=True) if self.form == "weighted_mean" else current

    def _divisor(self, counts: Tensor, pixels: int) -> Tensor:
        if self.average == "class_pixels":
            return counts.unsqueeze(1)
        if self.average == "labelled_pixels":
            return counts.sum()
        # `new_full`, not `as_tensor`: a number copied to a GPU would make the host wait for it.
        return sum_over_processes(counts.new_full((), pixels))

    def _join(self, newest: Tensor, history: Tensor, seen: Tensor) -> Tensor:
        if self.form != "moving_average":
            return self.gamma * history + newest
        average = self.gamma * history + (1 - self.gamma) * newest
        return torch.where(seen.unsqueeze(1), average, newest)

    @torch.no_grad()
    def _remember(self, current: Tensor, present: Tensor) -> None:
        self.history.copy_(current.detach())
        self.weight.mul_(self.gamma).add_(1)
        self.seen.logical_or_(present)


def alignment(source: Tensor, target: Tensor, alpha: float, present: Tensor | None = None) -> Tensor:
    """Eq. 7: sum_k ||C_k^s - C_k^t||_2^2 + alpha ||C_k^s - C_k^t||_1 for centroids [K, C].

    `present` [K] bool leaves classes out, for instance `source.seen & target.seen`.
    """
    difference = source - target
    distance = difference.square().sum(1) + alpha * difference.abs().sum(1)
    return distance.sum() if present is None else (distance * present).sum()


class DomainCentroids(nn.Module):
    """Algorithm 3 and Eq. 7 for both domains, at the features' own resolution."""

    # PAPER: Algorithm 3 as printed returns the loss without ever adding Eq. 7; here it is added.
    # PAPER: Eq. 7 sums over channels and classes (`sum`).  Every other term of Eq. 1 is a mean here, so that its weight
    # is only comparable with theirs if this one is a mean too (`mean`).

    def __init__(
        self, classes: int, channels: int, gamma: float, alpha: float, *, average: Average, history: History,
        distance: Distance = "sum",
    ) -> None:  # fmt: skip
        super().__init__()
        self.classes, self.alpha, self.average = classes, alpha, average
        self.terms = classes * channels if distance == "mean" else 1
        self.source = Centroids(classes, channels, gamma, average=average, history=history)
        self.target = Centroids(classes, channels, gamma, average=average, history=history)

    def forward(self, source: Tensor, masks: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        """Eq. 7 from features of source [M, C, h, w] and target [B, C, h, w], masks [M, H, W] and labels [B, H, W]."""
        size = target.shape[-2:]
        source_now = class_sums(source, labels_at(masks, size), self.classes)
        target_now = class_sums(target, labels_at(labels, size), self.classes)
        source_centroids = self.source(*source_now, source[:, 0].numel())
        target_centroids = self.target(*target_now, target[:, 0].numel())
        both = self.source.seen & self.target.seen  # a class never shown has no centroid
        present = both if self.average == "class_pixels" else None
        return alignment(source_centroids, target_centroids, self.alpha, present) / self.terms
