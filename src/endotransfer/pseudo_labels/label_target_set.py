"""One pass over the target set: Algorithm 1, Equation 5 and Algorithm 2 joined; the labels hold for an epoch.

The network sees each image once.  Its logits are kept as it gave them, at low resolution and in half
precision (`logit_cache.py`), and rounded BEFORE anything is counted: thresholds and assignment see the same numbers, so
the portion comes out right.  Nothing here grows with the set but the names of its images.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, UNKNOWN_TAG, PassBatch, SegOutput
from endotransfer.distributed import sum_over_processes
from endotransfer.errors import TrainingDiverged
from endotransfer.losses.tag_loss import veto
from endotransfer.pseudo_labels.assign import assign
from endotransfer.pseudo_labels.local_labeller import LocalLabeller
from endotransfer.pseudo_labels.logit_cache import LogitCache
from endotransfer.pseudo_labels.thresholds import ThresholdState
from endotransfer.pseudo_labels.vote import vote_in_place, vote_superpixels, vote_synchronously

Voting = Literal["none", "in_place", "synchronous", "superpixel"]
TagRule = Literal["none", "veto", "fill_normal"]
LEAST_LOGIT = -60000.0  # the end of half precision, near enough


class TargetSet(Protocol):
    """The whole, unaugmented target set of this process."""

    logit_cache: LogitCache  # where predictions wait for the thresholds; what is on it already is not predicted again

    @property
    def size(self) -> tuple[int, int]: ...  # (H, W) of every image
    @property
    def total(self) -> int: ...  # images of all processes
    def __iter__(self) -> Iterator[PassBatch]: ...
    def without_images(self) -> Iterator[PassBatch]: ...  # tags and keys of the same batches; nothing is decoded
    def after(self, batches: int) -> Iterator[PassBatch]: ...  # the rest, when so many have been seen
    def superpixels(self, keys: list[str]) -> Tensor: ...  # [B, H, W]
    def store(self, keys: list[str], maps: Tensor) -> None: ...  # [B, H, W] uint8


@dataclass(frozen=True)
class LabellingSummary:
    """What a pass did, over all processes; lists are by class."""

    portion: float
    thresholds: list[float]  # log-odds; inf: the class was never predicted and takes no labels
    predicted: list[int]  # pixels
    labelled: list[int]  # pixels, after voting and tags
    images: int

    @property
    def shares(self) -> list[float]:
        """Pixels labelled as each class, against those predicted as it."""
        return [labels / max(1, pixels) for labels, pixels in zip(self.labelled, self.predicted, strict=True)]

    @property
    def coverage(self) -> float:
        """The share of all pixels that carry a label."""
        return sum(self.labelled) / max(1, sum(self.predicted))

    def figures(self) -> dict[str, float]:
        """For the log: the portion, the coverage, and each class's threshold (a probability) and share."""
        chances = torch.tensor(self.thresholds).sigmoid().tolist()
        by_class = {f"threshold_{k}": chance for k, chance in enumerate(chances)}
        by_class |= {f"labelled_{k}": share for k, share in enumerate(self.shares)}
        return {"portion": self.portion, "coverage": self.coverage, **by_class}


@torch.no_grad()
def label_target_set(
    predict: Callable[[Tensor], SegOutput],
    target: TargetSet,
    classes: int,
    portion: float,
    *,
    balanced: bool = True,
    voting: Voting = "none",
    iterations: int = 1,
    min_share: float = 0.5,
    tag_rule: TagRule = "none",
    evidence: LocalLabeller | None = None,
    device: torch.device | str | None = None,
) -> LabellingSummary:
    """Give every image of `target` its map of pseudo-labels, and store it.

    With `evidence`, images tagged lesion are labelled one by one instead of by the set's thresholds, unless it finds
    that the network is to be believed wholly.

    The tag rule comes before the vote, so that a lesion label which the tag forbids does not spread first.
    `device` is where predictions are counted and labels assigned (all processes must use one kind).
    """
    where, logit_cache, done = torch.device(device or "cpu"), target.logit_cache, target.logit_cache.whole
    state = ThresholdState(classes, device=where)

    def count(kept: Tensor, batch: PassBatch) -> None:
        state.update(_at(kept[:, :classes], target.size, where))
        if evidence is not None:
            evidence.hear(*_scorers(kept.to(where).float(), classes), _tags(batch, where))

    for number, batch in zip(range(done), target.without_images(), strict=False):  # by a pass that was stopped
        count(logit_cache.get(number), batch)
    with logit_cache.writing():
        for number, batch in enumerate(target.after(done), done):
            kept = _keep(predict(batch.images).logits)
            if evidence is not None:
                kept = _with_local(kept, evidence.look(batch.images))
            finite = kept.isfinite().all()
            on_host = kept.cpu()
            _require_finite(finite, batch)
            count(kept, batch)  # from where it lies: a GPU counts while the host writes
            logit_cache.put(number, on_host)
    state.reduce_over_processes()
    thresholds = state.thresholds(portion, balanced)
    if evidence is not None:
        evidence.settle()

    labelled = torch.zeros(classes, dtype=torch.int64, device=thresholds.device)
    images = torch.zeros((), dtype=torch.int64, device=thresholds.device)
    for number, batch in enumerate(target.without_images()):
        logits, local = _scorers(_at(logit_cache.get(number), target.size, where), classes)
        labels = assign(logits, thresholds)
        if evidence is not None:
            lesion = (_tags(batch, where) == LESION).view(-1, 1, 1)
            labels = torch.where(lesion, evidence.label(logits, local, labels), labels)
        if tag_rule != "none" and batch.tags is not None:
            labels = veto(labels, batch.tags.to(labels.device), fill_normal=tag_rule == "fill_normal")
        if voting != "none":
            superpixels = target.superpixels(batch.keys)
            labels = _vote(labels, superpixels, classes, voting, iterations, min_share)
        labelled += torch.bincount(labels.flatten().long(), minlength=256)[:classes]
        target.store(batch.keys, labels)
        images += len(batch.keys)
    logit_cache.clear()
    return LabellingSummary(
        portion=portion,
        thresholds=thresholds.tolist(),
        predicted=state.totals.tolist(),
        labelled=sum_over_processes(labelled).tolist(),
        images=int(sum_over_processes(images)),
    )


def _keep(logits: Tensor) -> Tensor:
    """The prediction [B, K, h, w] in half precision, each pixel's largest logit moved to 0.

    Softmax does not see the move, neither here nor after up-sampling (all classes of a pixel move alike),
    and half precision is finest near 0.
    """
    logits = logits.detach().float()
    return (logits - logits.amax(1, keepdim=True)).clamp(min=LEAST_LOGIT).half()


def _require_finite(finite: Tensor, batch: PassBatch) -> None:
    if not bool(finite):
        raise TrainingDiverged(
            f"the network predicts values that are not finite on target images {', '.join(batch.keys)}; "
            "go back to the last checkpoint and lower the learning rate."
        )


def _with_local(kept: Tensor, scores: Tensor) -> Tensor:
    """Local scores [B, h, w] behind the logits, as one channel more."""
    sized = interpolate(scores.detach().float().unsqueeze(1), kept.shape[-2:], mode="bilinear", align_corners=False)
    sized = sized.clamp(LEAST_LOGIT, -LEAST_LOGIT).to(kept.device)
    return torch.cat([kept.float(), sized], dim=1).half()  # a CPU's autocast joins no halves


def _scorers(kept: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Logits [B, K, h, w] and the local scores [B, h, w] behind them (nothing, where there are none)."""
    return kept[:, :classes], kept[:, classes:].flatten(1, 2)


def _tags(batch: PassBatch, device: torch.device) -> Tensor:
    if batch.tags is None:
        return torch.full((len(batch.keys),), UNKNOWN_TAG, device=device)
    return batch.tags.to(device)


def _at(kept: Tensor, size: tuple[int, int], device: torch.device) -> Tensor:
    """Logits [B, K, H, W] at the images' size, on `device`."""
    return interpolate(kept.to(device).float(), size=size, mode="bilinear", align_corners=False)


def _vote(
    labels: Tensor, superpixels: Tensor, classes: int, voting: Voting, iterations: int, min_share: float
) -> Tensor:
    if voting == "in_place":
        array, segments = labels.cpu().numpy(), superpixels.cpu().numpy()
        for _ in range(iterations):
            vote_in_place(array, segments, classes)
        return torch.from_numpy(array).to(labels.device)
    segments_here = superpixels.to(labels.device)
    if voting == "synchronous":
        return vote_synchronously(labels, segments_here, classes, iterations)
    return vote_superpixels(labels, segments_here, classes, min_share)
