"""Algorithm 2: an unlabelled pixel takes the label that its neighbours in the same super-pixel agree on.

A value of `classes` or more (IGNORE among them) is no label: it does not vote, and may be filled.
"""

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from endotransfer.batch import IGNORE

MIN_SHARE = 0.5  # of a super-pixel's pixels that must carry a label before it fills the rest
NEIGHBOURS = [(x, y) for x in range(3) for y in range(3) if (x, y) != (1, 1)]
# Batcher's network for eight values: swapping these pairs in turn, where out of order, sorts them.
SORTING_NETWORK = [
    (0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (1, 2), (5, 6),
    (0, 4), (1, 5), (2, 6), (3, 7), (2, 4), (3, 5), (1, 2), (3, 4), (5, 6),
]  # fmt: skip


def vote_in_place(labels: NDArray[np.uint8], superpixels: NDArray[Any], classes: int) -> NDArray[np.uint8]:
    """Algorithm 2 as printed, on labels [H, W] or [B, H, W], which are changed and returned.

    The raster scan writes as it goes, so that labels flow to the right and down.  More than 4 of the 8
    neighbours must carry the label and lie in the pixel's own super-pixel; neighbours outside the image do
    not vote.
    """
    from endotransfer.pseudo_labels.pixel_loops import vote_along_the_raster

    images = labels if labels.ndim == 3 else labels[None]
    segments = np.ascontiguousarray(superpixels, np.int32).reshape(images.shape)
    if len(images) == 1:  # not worth a thread
        vote_along_the_raster(images[0], segments[0], classes)
        return labels
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        list(threads.map(vote_along_the_raster, images, segments, [classes] * len(images)))
    return labels


def vote_synchronously(labels: Tensor, superpixels: Tensor, classes: int, iterations: int = 1) -> Tensor:
    """Algorithm 2 with every pixel decided from the previous state: labels, super-pixels [B, H, W] -> labels.

    No direction is preferred, all pixels are done at once, and `iterations` lets labels flow further.
    """
    # PAPER: Algorithm 2 writes in place, so that labels flow to the right and down (`vote_in_place`).
    if labels.is_cuda and find_spec("triton"):  # pragma: needs cuda
        return _vote_on_gpu(labels, superpixels, classes, iterations)
    state = labels.to(torch.uint8) | _ones_where(labels >= classes)
    foreign = _ones_where_foreign(superpixels.int())
    for _ in range(iterations):
        # IGNORE is all ones: a bitwise or silences a vote, far faster than `where` on bytes.
        winner, agreed = _majority(torch.stack(_neighbours(state, IGNORE)) | foreign)
        state &= winner | _ones_where(~agreed | (state != IGNORE))
    return state.to(labels.dtype)


def _vote_on_gpu(labels: Tensor, superpixels: Tensor, classes: int, iterations: int) -> Tensor:  # pragma: needs cuda
    """One launch an iteration: a GPU waits for launches, not for the few comparisons of a pixel."""
    from endotransfer.pseudo_labels.vote_kernel import vote_once

    state = labels
    for _ in range(iterations):
        state = vote_once(state, superpixels, classes)
    return state.to(labels.dtype)


def vote_superpixels(labels: Tensor, superpixels: Tensor, classes: int) -> Tensor:
    """Beyond the paper: a super-pixel's commonest label (the lowest of equals) fills its unlabelled pixels.

    Only where it covers at least MIN_SHARE of ALL the super-pixel's pixels.  Labels, super-pixels [B, H, W].
    """
    images = len(labels)
    segments = int(superpixels.max()) + 1 if superpixels.numel() else 0
    first = torch.arange(images, device=labels.device).view(-1, 1, 1) * segments
    segment = (superpixels.long() + first).flatten()
    label = labels.flatten().long()
    labelled = label < classes
    votes = torch.bincount((segment * classes + label)[labelled], minlength=images * segments * classes)
    most, winner = votes.view(-1, classes).max(1)
    size = torch.bincount(segment, minlength=images * segments)
    winner = torch.where((most > 0) & (most >= MIN_SHARE * size), winner, IGNORE)
    return torch.where(labelled, label, winner[segment]).view_as(labels).to(labels.dtype)


def _neighbours(values: Tensor, outside: int) -> list[Tensor]:
    """Every pixel's eight neighbours: values [B, H, W] -> eight views [B, H, W]."""
    height, width = values.shape[-2:]
    padded = pad(values, (1, 1, 1, 1), value=outside)
    return [padded[:, x : x + height, y : y + width] for x, y in NEIGHBOURS]


def _ones_where(mask: Tensor) -> Tensor:
    """The byte 255 where the mask is set, 0 elsewhere."""
    return mask.to(torch.uint8).neg_()


def _ones_where_foreign(superpixels: Tensor) -> Tensor:
    """The byte 255 for each neighbour in another super-pixel: [B, H, W] -> [8, B, H, W]."""
    foreign = superpixels.new_empty((8, *superpixels.shape), dtype=torch.uint8)
    scratch = torch.empty_like(superpixels)  # comparing into integers is five times as fast as into booleans
    for mask, other in zip(foreign, _neighbours(superpixels, -1), strict=True):
        mask.copy_(torch.ne(other, superpixels, out=scratch))
    return foreign.neg_()


def _majority(votes: Tensor) -> tuple[Tensor, Tensor]:
    """The value that at least five of the eight votes [8, ...] share, and whether there is one.

    Sorted, five equal ones fill the fourth place and stand four places apart: no count by class, nor its memory.
    """
    ordered, spare = list(votes), torch.empty_like(votes[0])
    for i, j in SORTING_NETWORK:
        torch.minimum(ordered[i], ordered[j], out=spare)
        torch.maximum(ordered[i], ordered[j], out=ordered[j])
        ordered[i], spare = spare, ordered[i]
    agreed = ordered[0] == ordered[4]
    for i in (1, 2, 3):
        agreed |= ordered[i] == ordered[i + 4]
    return ordered[3], agreed
