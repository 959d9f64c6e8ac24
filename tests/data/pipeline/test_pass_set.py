"""Whole passes: every image once, shared without overlap."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from endotransfer.batch import PassBatch
from endotransfer.config import SuperpixelConfig
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.superpixel_cache import SuperpixelCache
from endotransfer.errors import ConfigError, DataError
from tests.data.pipeline.disk import SIDE, Disk, decoded


@pytest.mark.parametrize(("cache", "workers"), [(True, 2), (False, 0), (False, 2)])
def test_a_pass_shows_every_image_once_in_order(disk: Disk, cache: bool, workers: int) -> None:
    images = PassSet(decoded(disk.target, cache=cache), batch=3, workers=workers)
    for _ in range(2):
        batches = list(images)
        assert [len(batch.keys) for batch in batches] == [3, 3, 1]
        assert len(images) == 3
        assert [key for batch in batches for key in batch.keys] == [sample.key for sample in disk.target]
        for batch in batches:
            assert_pass_batch(batch, disk)


def assert_pass_batch(batch: PassBatch, disk: Disk) -> None:
    samples = {sample.key: sample for sample in disk.target}
    assert batch.tags is not None
    for key, tag, image in zip(batch.keys, batch.tags.tolist(), batch.images, strict=True):
        expected = torch.from_numpy(np.array(Image.open(samples[key].image))).permute(2, 0, 1)
        assert tag == samples[key].tag
        assert torch.equal(image, expected.float() / 255)


@pytest.mark.parametrize("processes", [1, 2, 3, 9])
def test_processes_share_a_pass_without_overlap(disk: Disk, processes: int) -> None:
    images = decoded(disk.target)
    parts = [
        [key for batch in PassSet(images, batch=2, rank=rank, world_size=processes) for key in batch.keys]
        for rank in range(processes)
    ]
    assert sorted(key for part in parts for key in part) == sorted(sample.key for sample in disk.target)
    assert all(0 <= len(one) - len(other) <= 1 for one, other in pairwise(parts))


def test_superpixels_of_a_pass_are_those_of_the_images(disk: Disk) -> None:
    images = PassSet(decoded(disk.target), batch=3, rank=1, world_size=2, superpixels=disk.cache)
    assert images.build_superpixels(processes=1) == 3
    assert images.build_superpixels() == 0
    regions = images.superpixels(["target/4", "target/1"])
    assert regions.shape == (2, SIDE, SIDE)
    assert regions.dtype == torch.int64
    for number, region in zip((4, 1), regions, strict=True):
        assert np.array_equal(region, disk.cache.get(np.asarray(Image.open(disk.target[number].image))))


def test_superpixels_without_a_cache_are_refused(disk: Disk) -> None:
    with pytest.raises(ConfigError, match="made without them"):
        PassSet(decoded(disk.target), batch=3).superpixels(["target/1"])


def test_a_pass_over_a_broken_image_names_it(disk: Disk) -> None:
    disk.target[5] = replace(disk.target[5], image=Path("/nowhere/x.png"))
    with pytest.raises(DataError, match=r"/nowhere/x.png"):
        list(PassSet(decoded(disk.target, cache=False), batch=3, workers=1))


def test_runs_that_share_images_share_their_superpixels(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a benchmark's cells only the first reads them; other settings are other super-pixels."""
    images = decoded(disk.target)
    keys = [sample.key for sample in disk.target]
    first = PassSet(images, batch=3, superpixels=disk.cache)
    assert first.build_superpixels(processes=1) == len(keys)
    expected = first.superpixels(keys)
    other = SuperpixelCache(disk.cache.folder, SuperpixelConfig(segments_at_512=4000))
    assert PassSet(images, batch=3, superpixels=other).build_superpixels(processes=1) == len(keys)

    def fail(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(SuperpixelCache, "_get", fail)
    second = PassSet(images, batch=3, superpixels=disk.cache)
    assert second.build_superpixels(processes=1) == 0
    assert torch.equal(second.superpixels(keys), expected)
