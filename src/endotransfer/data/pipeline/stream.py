"""The endless, shuffled, augmented sequence of one kind of images: masked, tag-only, or target."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from endotransfer.batch import IGNORE
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.order import ClassOrder, Order, augmentation_seed
from endotransfer.data.pipeline.superpixels import SuperpixelCache
from endotransfer.data.pipeline.transforms import REGIONS, Augment
from endotransfer.errors import DataError

Item = dict[str, Any]  # image, tag, key; and mask, stored, superpixels where there are such
MapReader = Callable[[int, str], np.ndarray | None]  # (round, key) -> the map uint8 [H, W] stored for that image


class Stream(Dataset[Item]):
    """`images` in the order of (`seed`, `name`), each pass over them shuffled and augmented anew.

    `by_class`: every class comes up equally often, instead of every image; for images that have masks.
    """

    def __init__(
        self,
        name: str,
        images: DecodedImages,
        *,
        seed: int,
        augment: Augment | None = None,
        maps: MapReader | None = None,
        superpixels: SuperpixelCache | None = None,
        by_class: bool = False,
    ) -> None:
        self.name = name
        self.images = images
        self.seed = seed
        self.augment = augment
        self.maps = maps
        self.superpixels = superpixels
        self.order = ClassOrder(seed, name, images.present) if by_class else Order(seed, name, len(images))

    def __getitem__(self, entry: tuple[int, int | None]) -> Item:
        """`entry` = (position, round): the sample there, its image and all its maps under one geometry.

        `round` says which stored map to read; None, before the first target pass: there is none.
        """
        position, round = entry
        epoch, index = self.order.entry(position)
        sample, picture = self.images.samples[index], self.images[index]
        image, maps = picture.image, self.stored(sample.key, round)
        if picture.mask is not None:
            maps["mask"] = picture.mask
        if self.superpixels is not None:
            maps[REGIONS] = superpixels_of(image, self.superpixels)
        if self.augment is not None:
            image, maps = self.augment(image, maps, augmentation_seed(self.seed, self.name, epoch, sample.key))
        return {"image": image, "tag": sample.tag, "key": sample.key, **maps}

    def stored(self, key: str, round: int | None) -> dict[str, Tensor]:
        """The map of image `key` that the pass of `round` stored; empty before the first pass."""
        if self.maps is None or round is None:
            return {}
        stored, size = self.maps(round, key), self.images.size
        if stored is None:  # the pass had nothing to say about this image
            return {"stored": torch.full(size, IGNORE, dtype=torch.uint8)}
        if stored.shape != size:
            what = f"the map stored for {key} has the shape {stored.shape} instead of {size}"
            raise DataError(f"{what}; resume with the image size that the run began with.")
        return {"stored": torch.tensor(stored, dtype=torch.uint8)}


def superpixels_of(image: Tensor, cache: SuperpixelCache) -> Tensor:
    """int32 [H, W] of `image` uint8 [3, H, W]."""
    return torch.from_numpy(cache.get(image.permute(1, 2, 0).numpy()))
