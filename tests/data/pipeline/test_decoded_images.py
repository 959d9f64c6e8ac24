"""Decoding once: the right pixels, the right complaints, and no mask opened that should stay shut."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline import decoded_images as module
from endotransfer.data.pipeline.decoded_images import DecodedImages, free_memory
from endotransfer.data.pipeline.working_size import resize_image, resize_mask
from endotransfer.errors import DataError

SIZE = (24, 32)
Write = Callable[..., Sample]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(pixels, mask, tag)` -> a sample on disk; a random image and a mask with a lesion by default."""
    rng = np.random.default_rng(0)

    def write(pixels: Any = None, mask: Any = None, tag: int = LESION) -> Sample:
        number = len(list(tmp_path.glob("*-image.png")))
        pixels = rng.integers(0, 256, (48, 64, 3), np.uint8) if pixels is None else pixels
        if mask is None:
            mask = np.zeros(pixels.shape[:2], np.uint8)
            mask[: 10 + number, :20] = 255
        paths = tmp_path / f"{number}-image.png", tmp_path / f"{number}-mask.png"
        for path, values in zip(paths, (pixels, mask), strict=True):
            Image.fromarray(values).save(path)
        return Sample(f"set/{number}", *paths, tag)

    return write


def read(*samples: Sample, masks: bool = True, **options: Any) -> DecodedImages:
    return DecodedImages(samples, SIZE, options.pop("classes", Classes()), masks=masks, **{"cache": True, **options})


@pytest.mark.parametrize("cache", [True, False, "always", "never", "auto"])
def test_pixels_are_those_of_the_resized_file(write: Write, cache: Any) -> None:
    samples = [write() for _ in range(3)]
    images = read(*samples, cache=cache)
    assert images.cached == (cache in (True, "always", "auto"))
    for index, sample in enumerate(samples):
        picture = images[index]
        image = Image.open(sample.image).resize((32, 24), Image.Resampling.BILINEAR)
        assert picture.mask is not None and sample.mask is not None
        assert torch.equal(picture.image, torch.from_numpy(np.array(image)).permute(2, 0, 1))
        assert np.array_equal(picture.mask.numpy(), np.asarray(Image.open(sample.mask))[1::2, 1::2] // 255)


def test_threads_and_cache_change_nothing(write: Write) -> None:
    samples = [write() for _ in range(5)]
    one, three, none = read(*samples, threads=1), read(*samples, threads=3), read(*samples, cache=False)
    for index in range(5):
        for other in (three[index], none[index]):
            assert torch.equal(one[index].image, other.image)
            assert torch.equal(one[index].mask, other.mask)  # type: ignore[arg-type]


def test_masks_false_never_opens_a_mask(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [write(), replace(write(), mask=Path("/nowhere/at/all.png")), replace(write(), mask=None)]

    def forbidden(*_: object) -> None:
        raise AssertionError("a mask was opened")

    monkeypatch.setattr(module, "read_checked_mask", forbidden)
    for cache in (True, False):
        images = read(*samples, masks=False, cache=cache)
        assert all(images[index].mask is None for index in range(3))


@pytest.mark.parametrize("cache", [True, False])
def test_notes_count_files_by_conversion(write: Write, cache: bool) -> None:
    ones = np.ones((48, 64), np.uint8)
    grey = write(pixels=np.zeros((48, 64), np.uint8))
    images = read(write(), write(), write(mask=ones), grey, cache=cache)
    assert images.notes["0 / 255 was read as normal / lesion"] == 3
    assert images.notes["grey pixels were converted to RGB"] == 1
    assert sum(images.notes.values()) == 4


@pytest.mark.parametrize("cache", [True, False])
class TestFaultsAreNamedBeforeTraining:
    def test_truncated_image(self, write: Write, cache: bool) -> None:
        samples = [write() for _ in range(3)]
        samples[1].image.write_bytes(samples[1].image.read_bytes()[:200])
        with pytest.raises(DataError, match=r"1-image\.png"):
            read(*samples, cache=cache)

    def test_mask_of_another_size(self, write: Write, cache: bool) -> None:
        with pytest.raises(DataError, match=r"0-mask.png: is 60 x 48 pixels, but its image is 64 x 48"):
            read(write(mask=np.zeros((48, 60), np.uint8)), cache=cache)

    def test_normal_image_with_a_lesion(self, write: Write, cache: bool) -> None:
        with pytest.raises(DataError, match=r"0-image.png: is tagged normal"):
            read(write(tag=NORMAL), cache=cache)

    def test_lesion_image_with_an_empty_mask(self, write: Write, cache: bool) -> None:
        with pytest.raises(DataError, match=r"0-image.png: is tagged lesion"):
            read(write(mask=np.zeros((48, 64), np.uint8)), cache=cache)

    def test_missing_mask(self, write: Write, cache: bool) -> None:
        with pytest.raises(DataError, match=r"0-image.png: has no mask"):
            read(replace(write(), mask=None), cache=cache)


def test_agreeing_and_absent_tags_pass(write: Write) -> None:
    empty, unsure = np.zeros((48, 64), np.uint8), np.zeros((48, 64), np.uint8)
    unsure[0] = IGNORE
    classes = Classes(("normal", "polyp", "ulcer"))
    indices = np.full((48, 64), 2, np.uint8)
    read(write(mask=empty, tag=NORMAL), write(tag=UNKNOWN_TAG), write(mask=empty, tag=UNKNOWN_TAG))
    read(write(mask=unsure), write(mask=indices), write(mask=unsure, tag=NORMAL), classes=classes)


def test_a_corrupt_image_without_cache_is_named_when_met(write: Write) -> None:
    sample = write()
    sample.image.write_bytes(b"not an image")
    images = read(sample, masks=False, cache=False)
    with pytest.raises(DataError, match=r"0-image\.png"):
        images[0]


def test_progress_counts_to_the_end(write: Write) -> None:
    seen: list[tuple[int, int]] = []
    read(write(), write(), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_auto_keeps_only_what_fits(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [write(), write()]
    needed = 2 * 24 * 32 * 4
    assert read(*samples).bytes == needed
    assert read(*samples, masks=False).bytes == needed * 3 // 4
    for free, cached in ((2 * needed, True), (2 * needed - 1, False)):
        monkeypatch.setattr(module, "free_memory", lambda free=free: free)
        assert read(*samples, cache="auto", memory_share=0.5).cached == cached


def test_free_memory_heeds_the_system_and_a_container(tmp_path: Path) -> None:
    meminfo, limit = tmp_path / "meminfo", tmp_path / "limit"
    total = free_memory(meminfo, limit)  # neither exists
    meminfo.write_text("MemTotal:  9000 kB\nMemAvailable:  1000 kB\n")
    assert free_memory(meminfo, limit) == 1000 * 1024
    limit.write_text("max\n")
    assert free_memory(meminfo, limit) == 1000 * 1024
    limit.write_text("4096\n")
    assert free_memory(meminfo, limit) == 4096
    assert total > 2**26
    assert free_memory() > 0


def test_resizing_keeps_classes_and_averages_colours() -> None:
    stripes = np.zeros((40, 40, 3), np.uint8)
    stripes[:, ::2] = 200
    assert np.abs(resize_image(stripes, (10, 10))[:, 1:-1].astype(int) - 100).max() <= 13  # not 0 or 200: no aliasing
    mask = np.array([[0, 1], [2, 255]], np.uint8)
    assert np.array_equal(resize_mask(mask, (4, 4)), mask.repeat(2, 0).repeat(2, 1))
    assert resize_mask(mask, (2, 2)) is mask
