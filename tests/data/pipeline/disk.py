"""Three small sets on disk, and how to compare what is made of them."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, Batch, Sample
from endotransfer.config import AugmentConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.batch_source import BatchSource
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache

SIDE = 16
SIZE = (SIDE, SIDE)
AUGMENT = AugmentConfig(scale=(0.7, 1.5), colour=0.2)


def write_samples(folder: Path, count: int) -> list[Sample]:
    """Random images; every second one is normal, the others have a lesion of their own size."""
    folder.mkdir()
    rng, samples = np.random.default_rng(count), []
    for number in range(count):
        tag, mask = (LESION, NORMAL)[number % 2], np.zeros(SIZE, np.uint8)
        mask[: number + 2, :5] = 255 * tag
        paths = folder / f"{number}.png", folder / f"{number}-mask.png"
        Image.fromarray(rng.integers(0, 256, (*SIZE, 3), np.uint8)).save(paths[0])
        Image.fromarray(mask).save(paths[1])
        samples.append(Sample(f"{folder.name}/{number}", *paths, tag))
    return samples


@dataclass
class Disk:
    """Three sets on disk, and a cache folder."""

    masked: list[Sample]
    tag_only: list[Sample]
    target: list[Sample]
    cache: SuperpixelCache


def decoded(samples: list[Sample], masks: bool = False, cache: bool = True) -> DecodedImages:
    return DecodedImages(samples, SIZE, Classes(), masks=masks, cache=cache)


def maps(pass_epoch: int, key: str) -> np.ndarray | None:
    """A stored map that tells its pass and image; none for image 6."""
    number = int(key.split("/")[1])
    return None if number == 6 else np.full(SIZE, 10 * pass_epoch + number, np.uint8)


MakeBatches = Callable[..., BatchSource]


def flat(batch: Any, prefix: str = "") -> dict[str, Any]:
    """Every tensor and list of a batch by its dotted name."""
    found: dict[str, Any] = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        if hasattr(value, "__dataclass_fields__"):
            found |= flat(value, f"{prefix}{field.name}.")
        elif value is not None:
            found[prefix + field.name] = value
    return found


def assert_equal(ones: list[Batch], others: list[Batch]) -> None:
    assert len(ones) == len(others)
    for one, other in zip(map(flat, ones), map(flat, others), strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert torch.equal(value, other[name]) if isinstance(value, Tensor) else value == other[name], name
