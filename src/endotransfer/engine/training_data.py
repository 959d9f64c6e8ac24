"""From an experiment's samples to the feed that its training reads: streams, their shares of a batch, super-pixels."""

import math
import os
from collections import Counter
from dataclasses import dataclass

import torch
from rich.console import Console

from endotransfer.batch import Sample
from endotransfer.config import Experiment
from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.reviewed_targets import as_indices
from endotransfer.data.pipeline.batch_source import BatchSource, Share
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.data.pipeline.device_pass_set import DevicePassSet
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.stream import MapReader, Stream
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.engine.run_log import progress_bar
from endotransfer.methods.base import Needs

GPU_SHARE = 0.2  # of a GPU's free memory that images may take; training needs the rest
MOST_WORKERS = 8  # more loader processes than this only wait for each other

Near = tuple[BatchSource | DeviceBatchSource, PassSet | DevicePassSet | None]


@dataclass(frozen=True)
class TrainingData:
    feed: BatchSource | DeviceBatchSource
    masked: DecodedImages  # of the source; what statistics before training are made of
    pass_set: PassSet | DevicePassSet | None
    steps_per_epoch: int
    notes: Counter[str]  # what was converted while reading, and how often


def prepare_feeding(
    experiment: Experiment,
    experiment_data: ExperimentData,
    needs: Needs,
    maps: MapReader,
    rank: int,
    world: int,
    console: Console,
    device: torch.device | None = None,
    decode_cache: DecodeCache | None = None,
) -> TrainingData:
    """Decode (once, where memory allows) and lay out the streams.  Target images are opened without their masks.

    `decode_cache`: decoded images shared with earlier runs of this process.
    """
    decode_cache = decode_cache or DecodeCache(most_sets=0)
    training, data = experiment.training, experiment.data
    workers = worker_count(training.workers, training.devices)
    keep = data.contradictions == "keep"

    source_shape = data.shape if needs.masks_of_target else data.source_shape

    def decoded(
        samples: list[Sample], what: str, shape: tuple[int, int], *, masks: bool,
        classes: Classes = experiment_data.classes, keep: bool = keep,
    ) -> DecodedImages:  # fmt: skip
        with progress_bar(console, shown=rank == 0) as bar:
            task = bar.add_task(f"reading {what}", total=len(samples), note="")
            return decode_cache.decoded_images(
                samples, shape, classes, masks=masks, cache=data.cache,
                memory_share=0.5 / world, keep_contradictions=keep,
                progress=lambda done, total: bar.update(task, completed=done),
            )  # fmt: skip

    def stream(name: str, images: DecodedImages, maps: MapReader | None = None) -> Stream:
        regions = superpixels if maps is not None and needs.superpixels else None
        by_class = training.sampling == "classes" and name == "masked"
        return Stream(
            name, images, seed=experiment.seed, augment=training.augment, maps=maps, superpixels=regions,
            by_class=by_class,
        )  # fmt: skip

    superpixels = SuperpixelCache(settings=data.superpixels)
    masked = decoded(experiment_data.masked, "source masks", source_shape, masks=True)
    tagged = (
        decoded(experiment_data.tagged, "source tags", source_shape, masks=False) if experiment_data.tagged else None
    )
    target = decoded(experiment_data.target, "target", data.shape, masks=False) if experiment_data.target else None
    reviewed = None
    if experiment_data.reviewed:  # a person's mask goes before the tag, so that the two may differ
        literal = as_indices(experiment_data.classes)
        reviewed = decoded(
            experiment_data.reviewed, "reviewed masks", data.shape, masks=True, classes=literal, keep=True
        )
    share = masked_share(training.batch_source, training.masked_share, bool(tagged))
    feed = BatchSource(
        masked=Share(stream("masked", masked), share),
        tag_only=Share(stream("tagged", tagged), training.batch_source - share) if tagged else None,
        target=Share(stream("target", target, maps), training.batch_target) if target else None,
        reviewed=Share(stream("reviewed", reviewed), training.batch_reviewed) if reviewed else None,
        tags=experiment_data.tags,
        workers=workers,
    )
    pass_set = None
    if target is not None:
        pass_set = PassSet(
            target, batch=4 * training.batch_target, rank=rank, world_size=world, tags=experiment_data.tags,
            superpixels=superpixels, workers=workers,
        )  # fmt: skip
    # PAPER: "epoch" is not defined; here it is one pass over the source set.
    steps = training.steps_per_epoch or math.ceil(
        experiment_data.source_images / (training.batch_source * training.accumulate)
    )
    notes = sum((images.notes for images in (masked, tagged, target, reviewed) if images), Counter[str]())
    near_feed, near_pass = near_to(device, feed, pass_set)
    return TrainingData(near_feed, masked, near_pass, steps, notes)


def near_to(device: torch.device | None, feed: BatchSource, pass_set: PassSet | None) -> Near:
    """Batches made on the GPU itself where all images fit into a part of its memory; else as they were."""
    needed = DeviceBatchSource.bytes_of(feed)
    if needed is None or device is None or device.type != "cuda":
        return feed, pass_set
    free, _ = torch.cuda.mem_get_info(device)  # pragma: needs cuda
    if needed > GPU_SHARE * free:  # pragma: needs cuda
        return feed, pass_set
    on_device = None if pass_set is None else DevicePassSet(pass_set, device)  # pragma: needs cuda
    return DeviceBatchSource(feed, device), on_device  # pragma: needs cuda


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
