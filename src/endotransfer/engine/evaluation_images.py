"""Test images for evaluation: decoded, checked and resized in threads, a few batches ahead of the network."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.data.read.checked_mask import read_checked_mask
from endotransfer.data.read.read_image import read_image
from endotransfer.inference import network_input

READERS = max(4, min(16, os.cpu_count() or 1))  # threads: decoding releases the interpreter


@dataclass(frozen=True)
class EvaluationImage:
    """One test image: the network's input, and the ground truth at the image's own size."""

    sample: Sample
    input: Tensor  # uint8 [h, w, 3], at the network's size
    size: tuple[int, int]  # (H, W) of the image itself
    truth: NDArray[np.uint8] | None  # [H, W]


def read_batches(
    samples: Sequence[Sample],
    classes: Classes,
    size: tuple[int, int] | None,
    batch: int,
    *,
    keep_contradictions: bool = True,
    cache: DecodeCache | None = None,
) -> Iterator[list[EvaluationImage]]:
    """`batch` images at a time, resized to `size`; never more than a few batches in memory.

    At their own sizes (None) no two images need be equal, so they come one by one.  `cache`: where images that were
    read for an earlier run of this process are found again.
    """
    batch = batch if size else 1
    read: Callable[[Sample], EvaluationImage] = partial(
        _read, classes=classes, size=size, keep_contradictions=keep_contradictions
    )
    if cache is not None:
        read = cache.remembering(read, samples, about=(classes, size, keep_contradictions), pixels=size)
    with ThreadPoolExecutor(READERS) as readers:
        ahead = [readers.submit(read, sample) for sample in samples[: 2 * batch]]
        rest = iter(samples[2 * batch :])
        while ahead:
            now, ahead = ahead[:batch], ahead[batch:]
            yield [future.result() for future in now]
            ahead += [readers.submit(read, sample) for sample in islice(rest, len(now))]


def _read(sample: Sample, classes: Classes, size: tuple[int, int] | None, keep_contradictions: bool) -> EvaluationImage:
    pixels = read_image(sample.image)
    own = (pixels.shape[0], pixels.shape[1])
    truth = None
    if sample.mask is not None:
        truth = read_checked_mask(sample, own, classes, keep_contradictions=keep_contradictions).mask
    return EvaluationImage(sample, network_input(pixels, size), own, truth)
