"""The pseudo-labels of a few target images after every pass: `propagation/epoch-003/<folder>/<image>.png`.

Maps that no checkpoint needs are removed; these stay, so that a report can show how labels spread over the epochs.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from endotransfer.batch import IGNORE, LESION, Sample
from endotransfer.data.class_colours import colour_table
from endotransfer.errors import CheckpointError

IMAGES = 4


def propagation_keys(samples: Sequence[Sample], most: int = IMAGES) -> tuple[str, ...]:
    """Which images are followed: spread over those tagged lesion, or over all where none is.  No mask is read."""
    keys = [sample.key for sample in samples if sample.tag == LESION] or [sample.key for sample in samples]
    places = np.linspace(0, len(keys) - 1, min(most, len(keys))).round().astype(int)
    return tuple(keys[place] for place in places)


def copy_maps(stored: Path, propagation: Path, epoch: int, keys: Iterable[str]) -> None:
    """Copy the maps called `keys` of a finished pass into the run's `propagation` folder, as far as there are any."""
    for key in keys:
        source, copy = stored / f"{key}.png", propagation / f"epoch-{epoch:03d}" / f"{key}.png"
        if not source.exists():
            continue
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with Image.open(source, formats=["PNG"]) as image:
                _in_colour(image).save(copy, transparency=IGNORE)
        except OSError as reason:
            raise CheckpointError(f"cannot write {copy}: {reason}; free space and resume.") from reason


def _in_colour(labels: Image.Image) -> Image.Image:
    """The same indices with a palette, so that any viewer shows classes; what carries no label is transparent."""
    coloured = Image.fromarray(np.asarray(labels, dtype=np.uint8)).convert("L")
    coloured.putpalette(colour_table().tobytes())
    return coloured
