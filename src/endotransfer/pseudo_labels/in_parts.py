"""Work on pixels that depend on nothing else, a few rows at a time.

A processor's cache holds the classes of some ten thousand pixels.  Temporaries of a whole batch would go through main
memory, and beyond 32 MB each is fetched from the system and cleared anew: at twenty classes twice the time a class.
"""

from collections.abc import Callable, Iterator

from torch import Tensor

MOST_VALUES = 2**19  # logits of a part on a processor: 2 MB; a GPU takes all at once

Pixelwise = Callable[[Tensor], tuple[Tensor, ...]]


def in_parts(pixelwise: Pixelwise, logits: Tensor) -> tuple[Tensor, ...]:
    """`pixelwise(logits)` for logits [B, K, H, W] and results [B, H, W], of which each pixel has its own."""
    batch, classes, height, width = logits.shape
    if logits.is_cuda or logits.numel() <= MOST_VALUES:
        return pixelwise(logits)
    rows = max(1, MOST_VALUES // (classes * width))
    results: list[Tensor] = []
    for image in range(batch):
        for top in range(0, height, rows):
            place = (slice(image, image + 1), slice(top, top + rows))
            found = pixelwise(logits[place[0], :, place[1]])
            results = results or [part.new_empty(batch, height, width) for part in found]
            for whole, part in zip(results, found, strict=True):
                whole[place] = part
    return tuple(results)


def image_by_image(maps: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Maps [B, C, h, w] one by one on a processor, all together on a GPU; each with its place in the batch."""
    step = len(maps) if maps.is_cuda else 1
    for first in range(0, len(maps), step):
        yield slice(first, first + step), maps[first : first + step]
