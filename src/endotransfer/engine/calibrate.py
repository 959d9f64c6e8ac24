"""After training: fit the temperature to held-out source masks and to tags of target training images."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, Sample
from endotransfer.config import Experiment
from endotransfer.data.folders.classes import Classes
from endotransfer.distributed import gather_texts
from endotransfer.engine.evaluation_images import read_batches
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.engine.held_out_source import held_out_source
from endotransfer.engine.temperature import NOT_FITTED, combine, pixel_temperature, tag_temperature
from endotransfer.errors import DataError
from endotransfer.inference import Forward, InferenceGeometry, geometry_of, logits_at, to_batch
from endotransfer.results import Temperature

MOST_IMAGES = 200  # of either kind, spread evenly: one number needs no more
PIXELS = 1000  # drawn from each source image


class Reader(NamedTuple):
    """How images become logits."""

    forward: Forward
    geometry: InferenceGeometry
    device: torch.device
    dtype: torch.dtype
    batch: int


def reader_of(forward: Forward, experiment: Experiment, device: torch.device, dtype: torch.dtype) -> Reader:
    geometry = geometry_of(experiment)
    return Reader(geometry.wrap(forward), geometry, device, dtype, experiment.evaluation.batch)


def fit_temperature(
    forward: Forward, experiment: Experiment, data: ExperimentData, device: torch.device, dtype: torch.dtype,
    *, target_masks: bool = False,
) -> Temperature:  # fmt: skip
    """The same in every process.  `target_masks`: an upper bound's source is the target, so nothing is held out."""
    used = [*data.masked, *data.tagged, *data.target, *data.test, *data.reviewed]
    samples, classes = ([], None) if target_masks else held_out_source(experiment.data, used)
    if classes is None or classes.names != data.classes.names:
        return Temperature(note=NOT_FITTED)
    reader = reader_of(forward, experiment, device, dtype)
    try:
        own = _fit(reader, samples, classes, data)
    except DataError as reason:  # a bad mask costs the temperature, not the trained run
        return Temperature(note=f"not calibrated: {reason}")
    return Temperature.model_validate_json(gather_texts(own.model_dump_json(), device)[0])  # one number for all


@torch.inference_mode()
def _fit(reader: Reader, samples: Sequence[Sample], classes: Classes, data: ExperimentData) -> Temperature:
    chosen = _spread(samples)
    logits, labels = _source_pixels(reader, chosen, classes)
    if not len(labels):
        return Temperature(note=NOT_FITTED)
    source = pixel_temperature(logits, labels)
    tagged = _spread([one for one in data.target if one.tag == LESION]) + _spread(
        [one for one in data.target if one.tag == NORMAL]
    )
    both = data.tags and {one.tag for one in tagged} == {LESION, NORMAL}
    tags = tag_temperature(*_target_peaks(reader, tagged, data.classes)) if both else None
    return Temperature(
        value=combine(source, tags), source=source, tags=tags, source_images=len(chosen),
        target_images=len(tagged) if both else 0,
    )  # fmt: skip


def _spread(samples: Sequence[Sample]) -> list[Sample]:
    return list(samples[:: max(1, -(-len(samples) // MOST_IMAGES))])


def _source_pixels(reader: Reader, samples: Sequence[Sample], classes: Classes) -> tuple[Tensor, Tensor]:
    """Logits [N, K] and labels [N] of pixels drawn from each image: fixed memory, and no large image outweighs."""
    draw = torch.Generator().manual_seed(0)
    logits, labels = [torch.zeros(0, len(classes))], [torch.zeros(0, dtype=torch.int64)]
    for images in read_batches(samples, classes, reader.geometry.size, reader.batch):
        output = reader.forward(to_batch([image.input for image in images], reader.device, reader.dtype))
        for index, image in enumerate(images):
            assert image.truth is not None
            truth = torch.from_numpy(image.truth.copy()).flatten()
            known = torch.nonzero(truth != IGNORE).flatten()
            place = known[torch.randperm(len(known), generator=draw)[:PIXELS]]
            logits.append(logits_at(output, index, image.size).flatten(1)[:, place.to(reader.device)].T.cpu())
            labels.append(truth[place].long())
    return torch.cat(logits), torch.cat(labels)


def _target_peaks(reader: Reader, samples: Sequence[Sample], classes: Classes) -> tuple[Tensor, Tensor]:
    """Logits [N, K] of each image's most lesion-like pixel, and whether it is tagged lesion [N]; no mask is opened."""
    bare = [replace(sample, mask=None) for sample in samples]
    peaks = []
    for images in read_batches(bare, classes, reader.geometry.size, reader.batch):
        output = reader.forward(to_batch([image.input for image in images], reader.device, reader.dtype))
        for index, image in enumerate(images):
            logits = logits_at(output, index, image.size).flatten(1)
            peaks.append(logits[:, logits.log_softmax(0)[0].argmin()].cpu())
    return torch.stack(peaks), torch.tensor([sample.tag == LESION for sample in samples])
