"""From an experiment's samples to the batches that training reads: streams, their shares of a batch, super-pixels."""

import math
import os
from collections import Counter
from dataclasses import dataclass

import torch
from rich.console import Console

from endotransfer.config import Experiment, TrainingConfig
from endotransfer.data.pipeline.batch_source import BatchSource, Share
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.data.pipeline.device_pass_set import DevicePassSet
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.stream import MapReader, Stream
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache
from endotransfer.engine.decode_roles import DecodedRoles, decode_roles
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.methods.task import Needs

GPU_SHARE = 0.2  # of a GPU's free memory that images may take; training needs the rest
MOST_WORKERS = 8  # more loader processes than this only wait for each other


@dataclass(frozen=True)
class TrainingData:
    """All images that a run trains on, in the forms in which it reads them."""

    batch_source: BatchSource | DeviceBatchSource  # augmented batches, by step
    masked: DecodedImages  # of the source, whole; statistics before training are made of it
    pass_set: PassSet | DevicePassSet | None  # the target set, whole and unaugmented; None: there is no target
    superpixels: SuperpixelCache  # of either domain
    steps_per_epoch: int
    notes: Counter[str]  # what was converted while reading, and how often


def load_training_data(
    experiment: Experiment, experiment_data: ExperimentData, needs: Needs, read_map: MapReader, *,
    console: Console, rank: int = 0, world_size: int = 1, device: torch.device | None = None,
    decode_cache: DecodeCache | None = None,
) -> TrainingData:  # fmt: skip
    """Decode the images (once, where memory allows) and lay out the streams that batches are taken from.

    `decode_cache`: decoded images shared with earlier runs of this process.
    """
    training, data, tags = experiment.training, experiment.data, experiment_data.tags
    decoder = decode_cache or DecodeCache(most_sets=0)
    images = decode_roles(data, experiment_data, needs, decoder, console, rank=rank, world_size=world_size)
    superpixels = SuperpixelCache(settings=data.superpixels)
    workers = worker_count(training.workers, training.devices)
    in_batches = superpixels if needs.superpixels else None
    batch_source: BatchSource | DeviceBatchSource
    batch_source = loaded = BatchSource(
        **_shares(experiment, images, read_map, in_batches, needs.rare_class_temperature), tags=tags, workers=workers
    )
    pass_set: PassSet | DevicePassSet | None = None
    if images.target is not None:
        pass_set = whole = PassSet(
            images.target, batch=4 * training.batch_target, rank=rank, world_size=world_size, tags=tags,
            superpixels=superpixels, workers=workers,
        )  # fmt: skip
    if device is not None and fits_on_gpu(loaded, device):
        batch_source = DeviceBatchSource(loaded, device)
        pass_set = None if pass_set is None else DevicePassSet(whole, device)
    steps = steps_per_epoch(training, experiment_data.source_images)
    return TrainingData(batch_source, images.masked, pass_set, superpixels, steps, images.notes)


def _shares(
    experiment: Experiment, images: DecodedRoles, read_map: MapReader, superpixels: SuperpixelCache | None,
    rare_class_temperature: float | None,
) -> dict[str, Share | None]:  # fmt: skip
    """The streams of a batch and how many images each gives; only the target's has stored maps and super-pixels."""
    training = experiment.training
    masked = masked_share(training.batch_source, training.masked_share, bool(images.tagged))

    def share(name: str, decoded: DecodedImages | None, count: int) -> Share | None:
        if decoded is None:
            return None
        target, by_mask = name == "target", name == "masked"
        stream = Stream(
            name, decoded, seed=experiment.seed, augment=training.augment,
            maps=read_map if target else None, superpixels=superpixels if target else None,
            by_class=training.sampling == "classes" and by_mask,
            rare_class_temperature=rare_class_temperature if by_mask else None,
        )  # fmt: skip
        return Share(stream, count)

    return {
        "masked": share("masked", images.masked, masked),
        "tag_only": share("tagged", images.tagged, training.batch_source - masked),
        "target": share("target", images.target, training.batch_target),
        "reviewed": share("reviewed", images.reviewed, training.batch_reviewed),
        "normals": share("normals", images.normals, training.batch_normals),
    }


def fits_on_gpu(batch_source: BatchSource, device: torch.device) -> bool:
    """Whether batches can be made on the GPU itself: all images fit into a part of its memory."""
    needed = DeviceBatchSource.bytes_of(batch_source)
    if needed is None or device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)  # pragma: needs cuda
    return needed <= GPU_SHARE * free  # pragma: needs cuda


def steps_per_epoch(training: TrainingConfig, source_images: int) -> int:
    # PAPER: "epoch" is not defined; here it is one pass over the source set.
    return training.steps_per_epoch or math.ceil(source_images / (training.batch_source * training.accumulate))


def masked_share(batch: int, share: float, tag_only: bool) -> int:
    """How many of a source batch's images carry masks: all, unless tag-only images exist; never none.

    PAPER: the 569 of 2,969 images that have masks would be absent from 43 % of batches of 4, so each kind cycles by
    itself and half of a batch is of each.
    """
    return batch if not tag_only else min(batch, max(1, round(batch * share)))


def worker_count(asked: int | None, processes: int) -> int:
    """Loader processes for each training process on this machine: as asked, else what the cores have to spare."""
    if asked is not None:
        return asked
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(0, min(MOST_WORKERS, cores // processes - 1))
