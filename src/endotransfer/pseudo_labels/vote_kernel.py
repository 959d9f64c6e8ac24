"""Algorithm 2, synchronously, as one Triton kernel: a thread a pixel.  Imported only where there is a GPU.

(No type hints inside kernels: Triton's compiler refuses names it does not know, `Any` among them.)
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 256  # pixels of one program


def vote_once(labels: Tensor, superpixels: Tensor, classes: int) -> Tensor:  # pragma: needs cuda
    """One round on labels, super-pixels [B, H, W], every pixel decided from the previous state -> uint8 [B, H, W]."""
    labels, superpixels = labels.contiguous(), superpixels.contiguous()
    height, width = labels.shape[-2:]
    voted = torch.empty_like(labels, dtype=torch.uint8)
    blocks = triton.cdiv(labels.numel(), BLOCK)
    _vote[(blocks,)](labels, superpixels, voted, labels.numel(), height, width, classes, BLOCK)
    return voted


@triton.jit  # type: ignore[untyped-decorator]
def _neighbour(  # type: ignore[no-untyped-def]
    labels, superpixels, pixel, row, column, own, inside,
    height, width, classes, down: tl.constexpr, right: tl.constexpr,
):  # pragma: needs cuda  # fmt: skip
    """The label of one neighbour; 255 where it is outside the image, in another super-pixel, or has no label."""
    there = inside & (row + down >= 0) & (row + down < height) & (column + right >= 0) & (column + right < width)
    place = pixel + down * width + right
    label = tl.load(labels + place, there, 255).to(tl.int32)
    kin = tl.load(superpixels + place, there, -1) == own
    return tl.where(there & kin & (label < classes), label, 255)


@triton.jit  # type: ignore[untyped-decorator]
def _vote(  # type: ignore[no-untyped-def]
    labels, superpixels, voted, pixels, height, width, classes, block: tl.constexpr
):  # pragma: needs cuda
    pixel = tl.program_id(0) * block + tl.arange(0, block)
    inside = pixel < pixels
    row, column = (pixel // width) % height, pixel % width
    own = tl.load(superpixels + pixel, inside, -1)
    label = tl.load(labels + pixel, inside, 255).to(tl.int32)
    a = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, -1, -1)
    b = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, -1, 0)
    c = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, -1, 1)
    d = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, 0, -1)
    e = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, 0, 1)
    f = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, 1, -1)
    g = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, 1, 0)
    h = _neighbour(labels, superpixels, pixel, row, column, own, inside, height, width, classes, 1, 1)
    # Five equal votes of eight cannot all be among the last four: the winner is one of the first four, whatever K is.
    winner = tl.where(_agree(a, a, b, c, d, e, f, g, h), a, 255)
    winner = tl.where(_agree(b, a, b, c, d, e, f, g, h), b, winner)
    winner = tl.where(_agree(c, a, b, c, d, e, f, g, h), c, winner)
    winner = tl.where(_agree(d, a, b, c, d, e, f, g, h), d, winner)
    tl.store(voted + pixel, tl.where(label < classes, label, winner).to(tl.uint8), inside)


@triton.jit
def _agree(label, a, b, c, d, e, f, g, h):  # type: ignore[no-untyped-def]  # pragma: needs cuda
    """Whether more than four of the eight votes are for `label`, and it is one."""
    votes = (
        (label == a).to(tl.int32) + (label == b).to(tl.int32) + (label == c).to(tl.int32) + (label == d).to(tl.int32)
    )
    votes += (label == e).to(tl.int32) + (label == f).to(tl.int32) + (label == g).to(tl.int32)
    votes += (label == h).to(tl.int32)
    return (votes > 4) & (label != 255)
