"""Random augmentation of one image, drawn from a seed: which part is shown, its colours and its blur."""

from dataclasses import dataclass
from math import exp, log, pi
from random import Random

from endotransfer.config import AugmentConfig

HUE_SHARE = 0.1  # hue turns far less than brightness does: redness is what tells blood from mucosa
BLUR_SIGMA = (0.3, 1.5)  # pixels


@dataclass(frozen=True)
class Window:
    """The part of an image that becomes the new image, in pixels of the old one; it may reach outside."""

    top: int
    left: int
    height: int
    width: int
    mirror: bool
    upend: bool


@dataclass(frozen=True)
class Change:
    """One random augmentation of one image."""

    window: Window
    brightness: float
    contrast: float
    saturation: float
    turn: float  # of the hue, an angle
    sigma: float | None  # of a blur

    @property
    def recolours(self) -> bool:
        return (self.brightness, self.contrast, self.saturation, self.turn) != (1, 1, 1, 0)


def output_size(settings: AugmentConfig, height: int, width: int) -> tuple[int, int]:
    """(H, W) of an image of that size after augmentation."""
    return settings.crop or (height, width)


def draw_change(settings: AugmentConfig, height: int, width: int, seed: int) -> Change:
    """The augmentation of an image [3, H, W] that `seed` stands for.

    It has a generator of its own, so that training's global ones are not advanced, and always draws as many numbers,
    so that switching on colour leaves the geometry unchanged.
    """
    random = Random(seed)
    window = _draw_window(settings, height, width, random)
    brightness, contrast, saturation, hue = (settings.colour * (2 * random.random() - 1) for _ in range(4))
    is_blurred, softness = random.random() < settings.blur, random.random()
    low, high = BLUR_SIGMA
    sigma = low + softness * (high - low) if is_blurred else None
    return Change(window, 1 + brightness, 1 + contrast, 1 + saturation, 2 * pi * HUE_SHARE * hue, sigma)


def _draw_window(settings: AugmentConfig, height: int, width: int, random: Random) -> Window:
    mirror, upend = random.random() < 0.5, random.random() < 0.5
    low, high = settings.scale
    zoom = exp(log(low) + random.random() * (log(high) - log(low)))  # halving is as likely as doubling
    new_height, new_width = output_size(settings, height, width)
    tall, wide = max(1, round(new_height / zoom)), max(1, round(new_width / zoom))
    top, left = round(random.random() * (height - tall)), round(random.random() * (width - wide))
    return Window(top, left, tall, wide, mirror and settings.flip_horizontal, upend and settings.flip_vertical)
