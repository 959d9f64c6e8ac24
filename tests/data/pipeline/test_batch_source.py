"""What a batch holds: the right images, tags and maps, all under one geometry, and no target mask."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, TargetBatch
from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.batch_source import Share
from endotransfer.data.pipeline.order import Order
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.stream import Stream
from endotransfer.data.pipeline.to_device import to_device
from endotransfer.errors import ConfigError, DataError
from tests.data.pipeline.disk import SIDE, Disk, MakeBatches, assert_equal, decoded, flat


def test_a_batch_has_masked_images_first_then_tag_only_and_a_target_without_masks(make_batches: MakeBatches) -> None:
    batch = next(make_batches().batches(0, 1, pass_epoch=2))
    assert batch.source is not None and batch.target is not None
    assert [key.split("/")[0] for key in batch.source.keys] == ["masked"] * 2 + ["tag_only"] * 2
    assert batch.source.images.shape == (4, 3, SIDE, SIDE)
    assert batch.source.masks.shape == (2, SIDE, SIDE)
    assert batch.target.images.dtype == batch.source.masks.dtype == torch.uint8
    assert batch.target.stored is not None and batch.target.superpixels is not None
    assert batch.target.stored.shape == batch.target.superpixels.shape == (4, SIDE, SIDE)
    assert not any("mask" in field.name for field in fields(TargetBatch))


def test_tags_masks_and_images_belong_to_their_keys(make_batches: MakeBatches, disk: Disk) -> None:
    samples = {sample.key: sample for sample in disk.masked + disk.tag_only + disk.target}
    for batch in make_batches(augment=None).batches(0, 6):
        assert batch.source is not None and batch.target is not None
        for part in (batch.source, batch.target):
            assert part.tags is not None
            for key, tag, image in zip(part.keys, part.tags.tolist(), part.images, strict=True):
                assert tag == samples[key].tag
                assert np.array_equal(image.permute(1, 2, 0), np.asarray(Image.open(samples[key].image)))
        for key, mask in zip(batch.source.keys, batch.source.masks, strict=False):
            assert np.array_equal(mask * 255, np.asarray(Image.open(samples[key].mask or "")))


def test_positions_follow_the_order_of_each_stream(make_batches: MakeBatches) -> None:
    order = Order(3, "target", 7)
    expected = [f"target/{order.entry(position)[1]}" for position in range(4 * 4)]
    batches = list(make_batches().batches(0, 4))
    assert [key for batch in batches if batch.target for key in batch.target.keys] == expected


@pytest.mark.parametrize(("absent", "images"), [("masked", 2), ("tag_only", 2), ("target", 4)])
def test_any_stream_may_be_absent(make_batches: MakeBatches, absent: str, images: int) -> None:
    batch = next(make_batches(**{absent: None}).batches(0, 1))
    assert batch.source is not None
    assert len(batch.source.images) == len(batch.source.keys) == images
    assert batch.source.masks.shape == (0 if absent == "masked" else 2, SIDE, SIDE)
    assert (batch.target is None) == (absent == "target")


def test_batches_may_hold_the_target_alone(make_batches: MakeBatches) -> None:
    assert next(make_batches(masked=None, tag_only=None).batches(0, 1)).source is None


def test_a_share_of_nothing_is_an_absent_stream(make_batches: MakeBatches, disk: Disk) -> None:
    nothing = Share(Stream("tag-only", decoded(disk.tag_only), seed=3), 0)
    batch = next(make_batches(tag_only=nothing).batches(0, 1))
    assert batch.source is not None
    assert len(batch.source.images) == 2


def test_use_target_false_decodes_no_target_image(make_batches: MakeBatches, disk: Disk) -> None:
    batch_source = make_batches(cache=False)
    for sample in disk.target:
        sample.image.unlink()
    assert all(batch.target is None for batch in batch_source.batches(0, 3, use_target=False))


def test_without_tags_no_batch_has_any(make_batches: MakeBatches, disk: Disk) -> None:
    batch = next(make_batches(tags=False).batches(0, 1))
    assert batch.source is not None and batch.target is not None
    assert batch.source.tags is batch.target.tags is None
    assert next(iter(PassSet(decoded(disk.target), batch=2, tags=False))).tags is None


def test_image_mask_map_and_superpixels_share_one_geometry(disk: Disk) -> None:
    def image_as_map(pass_epoch: int, key: str) -> np.ndarray:
        return np.asarray(Image.open(disk.masked[int(key.split("/")[1])].image))[..., 0]

    images = decoded(disk.masked, masks=True)
    plain = Stream("masked", images, seed=3, maps=image_as_map, superpixels=disk.cache)
    flipped = Stream("masked", images, seed=3, maps=image_as_map, superpixels=disk.cache, augment=AugmentConfig())
    seen = set()
    for position in range(20):
        before, after = plain[position, 1], flipped[position, 1]
        stored, moved = before.maps["stored"], after.maps["stored"]
        [axes] = [axes for axes in ((), (0,), (1,), (0, 1)) if torch.equal(stored.flip(axes), moved)]
        assert torch.equal(after.image[0], after.maps["stored"])
        assert torch.equal(after.maps["mask"], before.maps["mask"].flip(axes))
        assert torch.equal(after.maps["superpixels"], before.maps["superpixels"].flip(axes))
        seen.add(axes)
    assert len(seen) == 4


def test_the_pass_chooses_the_stored_map(make_batches: MakeBatches) -> None:
    batch_source = make_batches(augment=None)
    for pass_epoch in (1, 2):
        for batch in batch_source.batches(0, 7, pass_epoch=pass_epoch):
            assert batch.target is not None and batch.target.stored is not None
            for key, stored in zip(batch.target.keys, batch.target.stored, strict=True):
                number = int(key.split("/")[1])
                assert stored.unique().tolist() == [IGNORE if number == 6 else 10 * pass_epoch + number]


def test_before_the_first_pass_there_is_no_stored_map(make_batches: MakeBatches) -> None:
    batch = next(make_batches().batches(0, 1, pass_epoch=None))
    assert batch.target is not None
    assert batch.target.stored is None
    assert batch.target.superpixels is not None


def test_a_stored_map_of_another_size_is_named(disk: Disk) -> None:
    stream = Stream("target", decoded(disk.target), seed=0, maps=lambda pass_epoch, key: np.zeros((3, 3), np.uint8))
    with pytest.raises(DataError, match=r"the map stored for target/\d has the shape \(3, 3\)"):
        stream[0, 1]


def test_target_masks_on_disk_do_not_matter(make_batches: MakeBatches, disk: Disk) -> None:
    before = list(make_batches(cache=False).batches(0, 4))
    for sample in disk.target + disk.tag_only:
        assert sample.mask is not None
        sample.mask.write_bytes(b"noise") if sample.tag == LESION else sample.mask.unlink()
    assert_equal(before, list(make_batches(cache=False).batches(0, 4)))


def test_a_target_opened_with_masks_is_refused(make_batches: MakeBatches, disk: Disk) -> None:
    with pytest.raises(ConfigError, match="may not be read"):
        make_batches(target=Share(Stream("target", decoded(disk.target, masks=True), seed=0), 4))


def test_a_batch_that_processes_cannot_share_is_refused_at_once(make_batches: MakeBatches) -> None:
    with pytest.raises(ConfigError, match="2 masked images in a batch cannot be shared by 3 processes"):
        make_batches().batches(0, 1, world_size=3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_to_device_makes_unit_images_and_whole_numbers(make_batches: MakeBatches, dtype: torch.dtype) -> None:
    batch = next(make_batches().batches(0, 1, pass_epoch=1))
    moved = to_device(batch, "cpu", dtype)
    for name, value in flat(moved).items():
        before = flat(batch)[name]
        if name.endswith("images"):
            assert value.dtype == dtype
            assert torch.allclose(value.double() * 255, before.double(), atol=1 if dtype == torch.bfloat16 else 1e-4)
        elif isinstance(value, Tensor):
            assert value.dtype == torch.int64
            assert torch.equal(value, before.long())
        else:
            assert value == before


def test_to_device_keeps_what_is_absent_and_does_not_divide_twice(make_batches: MakeBatches) -> None:
    batch = to_device(next(make_batches(target=None).batches(0, 1)), "cpu")
    assert batch.target is None
    assert_equal([to_device(batch, "cpu")], [batch])
