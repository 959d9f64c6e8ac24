"""Strong augmentation of a batch that is being trained on: colours and sharpness, each image by its own seed."""

from collections.abc import Sequence
from math import ceil, exp

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.colour_change import recoloured_batch
from endotransfer.data.pipeline.random_change import BLUR_SIGMA, draw_change
from endotransfer.data.pipeline.to_device import like


@torch.no_grad()
def strongly_changed(images: Tensor, colour: float, blur: float, seeds: Sequence[int]) -> Tensor:
    """Images [B, 3, H, W] in [0, 1] with other colours (strength `colour`) and, with probability `blur`, blurred.

    The strengths are those of `training.augment`.  Nothing moves, so that labels stay where they are.
    """
    settings = AugmentConfig(colour=colour, blur=blur)
    height, width = images.shape[-2:]
    changes = [draw_change(settings, height, width, seed) for seed in seeds]
    with torch.autocast(images.device.type, enabled=False):  # images are no activations: 8 bits would show as steps
        recoloured = recoloured_batch(images, changes).clamp(0, 1)
        return blurred_batch(recoloured, [change.sigma for change in changes])


def blurred_batch(images: Tensor, sigmas: Sequence[float | None]) -> Tensor:
    """Gaussian blurs of [B, 3, H, W], one sigma an image (None: left as it is), each cut off at ceil(3 sigma)."""
    batch, colours, height, width = images.shape
    radius = min(ceil(3 * BLUR_SIGMA[1]), height - 1, width - 1)
    taps = like(torch.tensor([_gaussian(sigma, radius) for sigma in sigmas]), images)
    taps = taps.repeat_interleave(colours, 0).view(batch * colours, 1, 1, -1)
    # Every colour of every image is a channel with a filter of its own: two convolutions for the whole batch.
    channels = pad(images.view(1, batch * colours, height, width), (radius,) * 4, mode="reflect")
    rows = conv2d(channels, taps, groups=batch * colours)
    return conv2d(rows, taps.mT, groups=batch * colours).view_as(images)


def _gaussian(sigma: float | None, radius: int) -> list[float]:
    """2 radius + 1 weights that sum to 1; without a sigma all of it on the pixel itself."""
    own = 0 if sigma is None else min(ceil(3 * sigma), radius)
    weights = [exp(-0.5 * (at / sigma) ** 2) if sigma and abs(at) <= own else 0.0 for at in range(-radius, radius + 1)]
    weights[radius] = 1.0
    return [weight / sum(weights) for weight in weights]
