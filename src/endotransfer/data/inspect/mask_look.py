"""What one mask covers, and what looks wrong with it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from endotransfer.data.folders.faults import Fault
from endotransfer.data.inspect.prints import SIDE
from endotransfer.label_values import IGNORE, LESION, NORMAL

_FULL = 0.95
_RIM = 0.9  # of the outermost pixels; of 5,282 masks of four public sets none marks so much of its rim as lesion
_SPECK = 1e-4  # of the image: six pixels of 256 x 256
_MANY_SPECKS = 5
_EIGHT = np.ones((3, 3), bool)


@dataclass(frozen=True)
class MaskLook:
    """What one mask covers."""

    pixels: NDArray[np.int64]  # [K + 1] by class; the last counts unlabelled pixels
    conversions: tuple[str, ...] = ()

    @property
    def lesion_share(self) -> float:
        """Of the labelled pixels, the share that is not of class 0."""
        labelled = self.pixels[:-1].sum()
        return float(1 - self.pixels[0] / labelled) if labelled else 0.0


def look_at_mask(mask: NDArray[np.uint8], classes: int, conversions: tuple[str, ...] = ()) -> MaskLook:
    """Count the pixels of each class in `mask` [H, W]."""
    if classes == 2:  # ten times quicker than a histogram, and nearly every set has two
        pixels = np.array([np.count_nonzero(mask == value) for value in (NORMAL, LESION, IGNORE)])
    else:
        histogram = np.bincount(mask.ravel(), minlength=256)
        pixels = np.append(histogram[:classes], histogram[IGNORE])
    return MaskLook(pixels, conversions)


def suspicions(mask: NDArray[np.uint8], look: MaskLook, file: str) -> list[Fault]:
    """What is drawn oddly in a binary mask [H, W]."""
    share = look.lesion_share
    if 0.5 < share < 1 - _SPECK and _rim_share(mask) >= _RIM:
        what = f"looks inverted: it marks {share:.0%} of the image as lesion, nearly the whole rim included"
        return [Fault("inverted-mask", file, what, "exchange black and white, so that the lesion is white")]
    if share > _FULL:
        what = f"marks {share:.0%} of the image as lesion"
        fix = "check whether lesion and background are exchanged"
        return [Fault("full-mask", file, what, fix, "warning")]
    label, count = ndimage.label(_cropped(mask == LESION), structure=_EIGHT)
    areas = np.bincount(label.ravel())[1:]
    specks = int((areas < _SPECK * mask.size).sum())
    if count and specks == count:
        what, fix = f"marks only {int(areas.sum())} pixels as lesion", "check whether the drawing is complete"
        return [Fault("tiny-lesion", file, what, fix, "warning")]
    if specks >= _MANY_SPECKS:
        what, fix = f"has {specks} stray specks beside the lesion", "remove what was not meant"
        return [Fault("specks", file, what, fix, "warning")]
    return []


def _cropped(drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rectangle that holds all that is drawn: labelling it is quicker than the whole picture."""
    rows, columns = (np.flatnonzero(drawn.any(axis=axis)) for axis in (1, 0))
    return drawn[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] if rows.size else drawn[:0]


def _rim_share(mask: NDArray[np.uint8]) -> float:
    """Of the outermost pixels, the share that is lesion."""
    rim = np.concatenate([mask[0], mask[-1], mask[:, 0], mask[:, -1]])
    return float((rim == LESION).mean())


def is_copy_of(image: Image.Image, thumbnail: NDArray[np.uint8]) -> bool:
    """Whether a mask's own pixels show the photograph [SIDE, SIDE, 3] itself."""
    if image.mode not in ("L", "RGB", "RGBA", "P") or thumbnail.std() < 8:
        return False
    small = np.asarray(image.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX), np.int16)
    photograph = np.asarray(Image.fromarray(thumbnail).convert("L"), np.int16)
    return bool(np.abs(small - photograph).mean() < 4)
