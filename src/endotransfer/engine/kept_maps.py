"""The pseudo-labels of a few target images, kept from every round: `propagation/epoch-003/<folder>/<image>.png`.

Maps that no checkpoint needs are forgotten; these stay, so that a report can show how labels spread over the epochs.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from endotransfer.batch import IGNORE, LESION, Sample
from endotransfer.data.class_colours import colour_table
from endotransfer.errors import CheckpointError

WATCHED = 4  # images
FOLDER = "propagation"


def watched_keys(samples: Sequence[Sample], most: int = WATCHED) -> tuple[str, ...]:
    """Which images are kept: spread over those tagged lesion, or over all where none is.  No mask is read."""
    keys = [sample.key for sample in samples if sample.tag == LESION] or [sample.key for sample in samples]
    places = np.linspace(0, len(keys) - 1, min(most, len(keys))).round().astype(int)
    return tuple(keys[place] for place in places)


def keep_maps(round_folder: Path, run: Path, epoch: int, keys: Iterable[str]) -> None:
    """Copy the maps called `keys` of a finished round into the run's `propagation/`, as far as they were stored."""
    for key in keys:
        stored = round_folder / f"{key}.png"
        if not stored.exists():
            continue
        kept = run / FOLDER / f"epoch-{epoch:03d}" / f"{key}.png"
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            with Image.open(stored, formats=["PNG"]) as image:
                _in_colour(image).save(kept, transparency=IGNORE)
        except OSError as reason:
            raise CheckpointError(f"cannot write {kept}: {reason}; free space and resume.") from reason


def _in_colour(labels: Image.Image) -> Image.Image:
    """The same indices with a palette, so that any viewer shows classes; what carries no label is transparent."""
    coloured = Image.fromarray(np.asarray(labels, dtype=np.uint8)).convert("L")
    coloured.putpalette(colour_table().tobytes())
    return coloured
