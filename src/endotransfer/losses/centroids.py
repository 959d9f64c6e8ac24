"""Algorithm 3 and Equation 7: class centroids that remember earlier steps, and their distance over domains."""

from typing import Literal

import torch
from torch import Tensor, nn

from endotransfer.batch import at_least_float32
from endotransfer.distributed import sum_over_processes, world_size

Average = Literal["all_pixels", "class_pixels"]
History = Literal["sum", "moving_average"]
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

    average  `all_pixels`: sums over the number of ALL pixels, as printed; `class_pixels`: the class's own mean.
    history  `sum`: sum_x gamma^(n-x) C_k^x, as printed; `moving_average`: gamma C_k + (1 - gamma) C_k^n, which
             starts at the first centroid of the class.
    absent   for a class without a pixel in the batch: `add_zero`, as printed and with `sum` the default, or
             `skip`, with `moving_average` the default: its centroid stays as it is.
    """

    # PAPER: dividing by all pixels makes a centroid's length follow the lesion's area, and the plain sum makes it
    # grow by 1 / (1 - gamma): the other forms are ours.  Algorithm 3 is silent on the gradient of its history.

    history: Tensor  # [K, C], detached
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
        self.absent = absent or ("add_zero" if history == "sum" else "skip")
        self.register_buffer("history", torch.zeros(classes, channels))
        self.register_buffer("seen", torch.zeros(classes, dtype=torch.bool))

    def forward(self, sums: Tensor, counts: Tensor, pixels: int) -> Tensor:
        """This step's centroids [K, C], from this process's sums [K, C], counts [K] and number of pixels.

        Only the newest term carries a gradient; the history is a constant.  Every process gets the same
        centroids.
        """
        counts = sum_over_processes(counts)
        # `new_full`, not `as_tensor`: a number copied to a GPU would make the host wait for it.
        all_pixels = sum_over_processes(counts.new_full((), pixels))
        divisor = all_pixels if self.average == "all_pixels" else counts.unsqueeze(1)
        newest = global_sum_with_gradient(sums) / divisor.clamp(min=1)
        present = counts > 0
        current = self._join(newest, self.history.to(newest.dtype))
        # PAPER: an absent class adds a zero in Algorithm 3 (`add_zero`); `skip` leaves its centroid as it was.
        if self.absent == "skip":
            current = torch.where(present.unsqueeze(1), current, self.history.to(newest.dtype))
        self._remember(current, present)
        return current

    def _join(self, newest: Tensor, history: Tensor) -> Tensor:
        if self.form == "sum":
            return self.gamma * history + newest
        average = self.gamma * history + (1 - self.gamma) * newest
        return torch.where(self.seen.unsqueeze(1), average, newest)

    @torch.no_grad()
    def _remember(self, current: Tensor, present: Tensor) -> None:
        # New tensors, not changed ones: this step's graph may still hold the old.
        self.history = current.detach().to(self.history.dtype)
        self.seen = self.seen | present


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

    def __init__(
        self, classes: int, channels: int, gamma: float, alpha: float, *, average: Average, history: History
    ) -> None:
        super().__init__()
        self.classes, self.alpha, self.average = classes, alpha, average
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
        return alignment(
            source_centroids, target_centroids, self.alpha, both if self.average == "class_pixels" else None
        )
