"""After training: what is usual of target training images, so that prediction can warn of what is not."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.engine.calibrate import Reader
from endotransfer.engine.evaluation_images import read_batches
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.errors import DataError
from endotransfer.familiarity.familiarity import FEWEST, Familiarity, fit_familiarity
from endotransfer.familiarity.gaussian import Values
from endotransfer.familiarity.image_signs import image_signs
from endotransfer.inference import pooled, to_batch
from endotransfer.results import Alarms

MOST, MOST_TESTS = 400, 200  # images, spread evenly: seconds, and more would hardly move a limit


@torch.inference_mode()
def fit_warning(
    reader: Reader, data: ExperimentData, *, target_masks: bool = False, decode_cache: DecodeCache | None = None
) -> tuple[Familiarity | None, Alarms]:
    """Fitted to training images, of the source where there is no target; measured on test images.  No mask is read.

    `target_masks`: an upper bound's source is the target.  `decode_cache`: shared with other runs of this process.
    """
    samples = data.target or [*data.masked, *data.tagged]
    domain = "target" if data.target or target_masks else "source"
    if len(samples) < FEWEST:
        note = f"not fitted: {len(samples)} {domain} training images, and fewer than {FEWEST} say too little"
        return None, Alarms(domain=domain, note=note)
    try:
        chosen, tests = _spread(samples, MOST), _spread(data.test, MOST_TESTS)
        signs, features = _look(reader, chosen, data.classes, decode_cache)
        fitted = fit_familiarity(signs, features, [one.group or one.key for one in chosen], reader.geometry.size)
        alarms = _alarms(fitted, *_look(reader, tests, data.test_classes, decode_cache)) if tests else None
    except DataError as reason:  # a bad image costs the warning, not the trained run
        return None, Alarms(domain=domain, note=f"not fitted: {reason}")
    return fitted, Alarms(
        held_out=fitted.held_out, test=alarms, images=len(chosen), test_images=len(tests), domain=domain
    )


def _spread(samples: Sequence[Sample], most: int) -> list[Sample]:
    """At most so many from the first to the last; their masks stay closed."""
    places = np.unique(np.linspace(0, len(samples) - 1, min(most, len(samples))).round().astype(int))
    return [replace(samples[place], mask=None) for place in places]


def _look(
    reader: Reader, samples: Sequence[Sample], classes: Classes, cache: DecodeCache | None
) -> tuple[Values, Values]:
    """Signs [N, 13] and features [N, C]."""
    signs, features = [], []
    for images in read_batches(samples, classes, reader.geometry.size, reader.batch, cache=cache):
        output = reader.forward(to_batch([image.input for image in images], reader.device, reader.dtype))
        features.append(pooled(output.features).flatten(1).double().cpu().numpy())
        signs += [image_signs(image.input.numpy(), reader.geometry.size) for image in images]
    return np.stack(signs), np.concatenate(features)


def _alarms(fitted: Familiarity, signs: Values, features: Values) -> float:
    """Per cent."""
    return 100 * float(np.mean([fitted.score(*one) > 1 for one in zip(signs, features, strict=True)]))
