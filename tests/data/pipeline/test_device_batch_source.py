"""Batches made on the device equal those of the loader: same images, same order, same changes."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import Batch, SourceBatch, TargetBatch
from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.batch_source import BatchSource, Share
from endotransfer.data.pipeline.batch_transforms import augment_batch
from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.data.pipeline.device_pass_set import DevicePassSet
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.stream import Stream
from endotransfer.data.pipeline.transforms import augment_image
from endotransfer.errors import ConfigError
from tests.data.pipeline.disk import Disk, decoded, maps

CPU = torch.device("cpu")
FLIPS = AugmentConfig()


@pytest.fixture
def batch_source(disk: Disk, make_batches: Callable[..., BatchSource]) -> BatchSource:
    """As a GPU would be given it: no super-pixels in batches, flips only, so that every pixel can be compared."""
    target = Stream("target", decoded(disk.target), seed=3, augment=FLIPS, maps=maps)
    return make_batches(augment=FLIPS, target=Share(target, 4))


def source_of(batch: Batch) -> SourceBatch:
    assert batch.source is not None
    return batch.source


def target_of(batch: Batch) -> TargetBatch:
    assert batch.target is not None
    return batch.target


def stored_in(batch: Batch) -> Tensor:
    stored = target_of(batch).stored
    assert stored is not None
    return stored


def fields(batch: Batch) -> dict[str, Tensor]:
    source, target = batch.source, batch.target
    assert source is not None
    values: dict[str, Tensor | None] = {"images": source.images, "masks": source.masks, "tags": source.tags}
    if target is not None:
        values |= {"target": target.images, "target tags": target.tags, "stored": target.stored}
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize(("pass_epoch", "use_target"), [(0, True), (None, True), (0, False)])
@pytest.mark.parametrize(("rank", "processes"), [(0, 1), (1, 2)])
def test_batches_equal_those_of_the_loader(
    batch_source: BatchSource, pass_epoch: int | None, use_target: bool, rank: int, processes: int
) -> None:
    asked: dict[str, Any] = {"rank": rank, "world_size": processes, "pass_epoch": pass_epoch, "use_target": use_target}
    here = list(DeviceBatchSource(batch_source, CPU).batches(1, 5, **asked))
    for mine, theirs in zip(here, batch_source.batches(1, 5, **asked), strict=True):
        assert source_of(mine).keys == source_of(theirs).keys
        one, other = fields(mine), fields(theirs)
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert torch.equal(value, other[name]), name
        if theirs.target is not None:
            assert target_of(mine).keys == theirs.target.keys


def test_a_new_pass_is_read_anew(batch_source: BatchSource) -> None:
    on_device = DeviceBatchSource(batch_source, CPU)
    first, second = (stored_in(next(iter(on_device.batches(0, 1, pass_epoch=pass_epoch)))) for pass_epoch in (0, 1))
    assert not torch.equal(first, second)


def test_maps_received_from_a_pass_are_those_read_from_disk(batch_source: BatchSource) -> None:
    read, received = DeviceBatchSource(batch_source, CPU), DeviceBatchSource(batch_source, CPU)
    keys = [sample.key for sample in batch_source.shares["target"].stream.images.samples]
    for some in (keys[:3], keys[3:6]):  # of the seventh the pass has nothing to say
        received.receive(1, some, torch.stack([torch.from_numpy(maps(1, key)) for key in some]))
    for one, other in zip(read.batches(0, 4, pass_epoch=1), received.batches(0, 4, pass_epoch=1), strict=True):
        assert torch.equal(stored_in(one), stored_in(other))


def test_without_masks_there_is_an_empty_stack_of_them(make_batches: Callable[..., BatchSource]) -> None:
    (batch,) = DeviceBatchSource(make_batches(masked=None, target=None), CPU).batches(0, 1)
    assert source_of(batch).masks.shape == (0, *source_of(batch).images.shape[-2:])
    assert batch.target is None


def test_a_batch_that_processes_cannot_share_is_refused(batch_source: BatchSource) -> None:
    with pytest.raises(ConfigError, match="multiple of 3"):
        DeviceBatchSource(batch_source, CPU).batches(0, 1, world_size=3)


def test_it_knows_what_it_takes_and_where_it_cannot_be(
    batch_source: BatchSource, make_batches: Callable[..., BatchSource]
) -> None:
    streams = [share.stream.images for share in batch_source.shares.values()]
    height, width = streams[0].size
    pixels = height * width
    assert DeviceBatchSource.bytes_of(batch_source) == pixels * sum(
        len(images) * (5 if images.masks else 4) for images in streams
    )
    assert DeviceBatchSource.bytes_of(make_batches()) is None  # super-pixels in batches
    assert DeviceBatchSource.bytes_of(make_batches(cache=False, target=None)) is None


WILD = AugmentConfig(scale=(0.6, 2.0), colour=0.5)


CROP = AugmentConfig(crop=(32, 40))


@pytest.mark.parametrize(
    "augment", [FLIPS, AugmentConfig(scale=(1, 2)), AugmentConfig(colour=0.6), WILD, AugmentConfig(blur=1.0), CROP]
)
def test_a_batch_of_changes_equals_one_image_at_a_time(augment: AugmentConfig) -> None:
    generator = torch.Generator().manual_seed(0)
    rough = torch.rand(8, 3, 6, 8, generator=generator)
    images = torch.nn.functional.interpolate(rough, (48, 64), mode="bicubic").clamp(0, 1).mul(255).to(torch.uint8)
    labels = (images[:, 0] > 128).to(torch.uint8)
    seeds = list(range(8))
    changed, maps_now = augment_batch(augment, images, {"mask": labels}, seeds)
    assert changed.dtype == maps_now["mask"].dtype == torch.uint8
    for index, seed in enumerate(seeds):
        image, alone = augment_image(augment, images[index], {"mask": labels[index]}, seed)
        away = (changed[index].int() - image.int()).abs()
        # Zooming out averages in one and not in the other, and a window's edge differs; all else is within a level.
        assert (away <= 1).float().mean() > (0.8 if augment is WILD else 0.93)
        assert away.float().mean() < 3
        assert (maps_now["mask"][index] == alone["mask"]).float().mean() > 0.97
        if augment is CROP:
            assert torch.equal(maps_now["mask"][index], alone["mask"])
            assert image.shape == changed[index].shape == (3, 32, 40)


def test_what_lies_outside_the_image_is_black_and_unlabelled() -> None:
    images, labels = torch.full((1, 3, 40, 40), 200, dtype=torch.uint8), torch.ones((1, 40, 40), dtype=torch.uint8)
    shrunk, maps_now = augment_batch(AugmentConfig(scale=(0.5, 0.5)), images, {"stored": labels}, [1])
    outside = maps_now["stored"] == 255
    assert 0.7 < outside.float().mean() < 0.8  # three quarters
    assert shrunk[:, 0][outside].float().mean() < 10
    assert shrunk[:, 0][~outside].min() > 90


@pytest.mark.parametrize(("rank", "processes"), [(0, 1), (1, 2)])
@pytest.mark.parametrize("tags", [True, False])
def test_a_pass_on_the_device_equals_one_from_memory(disk: Disk, rank: int, processes: int, tags: bool) -> None:
    settings: dict[str, Any] = {
        "batch": 2,
        "rank": rank,
        "world_size": processes,
        "tags": tags,
        "superpixels": disk.cache,
    }
    plain = PassSet(decoded(disk.target), **settings)
    near = DevicePassSet(PassSet(decoded(disk.target), **settings), CPU)
    assert len(near) == len(plain)
    assert near.build_superpixels(processes=1) == len(plain.indices)
    for here, there in zip(near, plain, strict=True):
        assert here.keys == there.keys
        assert torch.equal(here.images.float() / 255, there.images)
        assert (here.tags is None) == (there.tags is None)
        assert here.tags is None or there.tags is None or torch.equal(here.tags, there.tags)
        assert torch.equal(near.superpixels(here.keys), plain.superpixels(there.keys))
