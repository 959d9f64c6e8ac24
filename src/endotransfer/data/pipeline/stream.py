"""The endless, shuffled, augmented sequence of one kind of images: masked, tag-only, or target."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.order import ClassOrder, Order, RareClassOrder, augmentation_seed
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache
from endotransfer.data.pipeline.transforms import REGIONS, augment_image
from endotransfer.errors import DataError
from endotransfer.label_values import IGNORE

MapReader = Callable[[int, str], NDArray[np.uint8] | None]  # (pass_epoch, key) -> the map [H, W] stored for that image


@dataclass(frozen=True)
class StreamItem:
    """One augmented training image."""

    image: Tensor  # uint8 [3, H, W]
    tag: int
    key: str
    maps: dict[str, Tensor]  # integers [H, W]: mask, stored, superpixels, as far as the stream has them


class Stream:
    """`images` in the order of (`seed`, `name`), each pass over them shuffled and augmented anew.

    `by_class`: samples every class equally often instead of every image; `rare_class_temperature`: rare classes more
    often, and before `by_class`.  Both need masks.
    """

    def __init__(
        self,
        name: str,
        images: DecodedImages,
        *,
        seed: int,
        augment: AugmentConfig | None = None,
        maps: MapReader | None = None,
        superpixels: SuperpixelCache | None = None,
        by_class: bool = False,
        rare_class_temperature: float | None = None,
    ) -> None:
        self.name = name
        self.images = images
        self.seed = seed
        self.augment = augment
        self.maps = maps
        self.superpixels = superpixels
        self.order: Order | ClassOrder | RareClassOrder = Order(seed, name, len(images))
        if rare_class_temperature is not None:
            self.order = RareClassOrder(seed, name, images.class_pixels, rare_class_temperature)
        elif by_class:
            self.order = ClassOrder(seed, name, images.class_pixels > 0)

    def __getitem__(self, entry: tuple[int, int | None]) -> StreamItem:
        """`entry` = (position, pass_epoch): the image at that position and all its maps under one geometry.

        `pass_epoch` says which stored map to read; None, before the first target pass: there is none.
        """
        position, pass_epoch = entry
        epoch, index = self.order.entry(position)
        sample, picture = self.images.samples[index], self.images[index]
        image, maps = picture.image, self.stored(sample.key, pass_epoch)
        if picture.mask is not None:
            maps["mask"] = picture.mask
        if self.superpixels is not None:
            maps[REGIONS] = superpixels_of(image, self.superpixels)
        if self.augment is not None:
            seed = augmentation_seed(self.seed, self.name, epoch, sample.key)
            image, maps = augment_image(self.augment, image, maps, seed)
        return StreamItem(image, sample.tag, sample.key, maps)

    def stored(self, key: str, pass_epoch: int | None) -> dict[str, Tensor]:
        """The map of image `key` that the pass of `pass_epoch` stored; empty before the first pass."""
        if self.maps is None or pass_epoch is None:
            return {}
        stored, size = self.maps(pass_epoch, key), self.images.size
        if stored is None:  # the pass labelled nothing in this image
            return {"stored": torch.full(size, IGNORE, dtype=torch.uint8)}
        if stored.shape != size:
            what = f"the map stored for {key} has the shape {stored.shape} instead of {size}"
            raise DataError(f"{what}; resume with the image size that the run began with.")
        return {"stored": torch.tensor(stored, dtype=torch.uint8)}


def superpixels_of(image: Tensor, cache: SuperpixelCache) -> Tensor:
    """int32 [H, W] of `image` uint8 [3, H, W]."""
    return torch.from_numpy(cache.get(image.permute(1, 2, 0).numpy()))
