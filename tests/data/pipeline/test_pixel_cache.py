"""Decoded images on disk: the same pixels, never out of date, bounded, and of no consequence where it fails."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline import decoded_images
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.pixel_cache import WORTHWHILE, PixelCache
from endotransfer.data.read.read_image import read_image_and_notes
from endotransfer.errors import DataError
from endotransfer.label_values import LESION
from endotransfer.samples import Sample

SIZE = (24, 32)


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    """Noise, which no compression makes small, with masks of which one is 0 and 255."""
    made = []
    for index in range(3):
        random = np.random.default_rng(index)
        image, mask = tmp_path / f"{index}.png", tmp_path / f"{index}-mask.png"
        Image.fromarray(random.integers(0, 255, (96, 128, 3), dtype=np.uint8)).save(image)
        drawn = np.zeros((96, 128), np.uint8)
        drawn[20:60, 30 + index : 90] = 255 if index else 1
        Image.fromarray(drawn).save(mask)
        assert image.stat().st_size >= WORTHWHILE
        made.append(Sample(f"set/{index}", image, mask, LESION, "", "", f"set/{index}"))
    return made


def decoded(samples: list[Sample], cache: PixelCache | None, **other: Any) -> DecodedImages:
    settings = {"masks": True, **other}
    return DecodedImages(samples, SIZE, Classes(), disk=cache, **settings)


def same(one: DecodedImages, other: DecodedImages) -> bool:
    pictures = list(zip(*([images[i] for i in range(len(images))] for images in (one, other)), strict=True))
    equal = all(a.image.equal(b.image) for a, b in pictures)
    masks = all(a.mask is b.mask is None or (a.mask is not None and a.mask.equal(b.mask)) for a, b in pictures)
    return equal and masks and one.notes == other.notes and np.array_equal(one.class_pixels, other.class_pixels)


def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    seen: list[Path] = []

    def counted(path: Path) -> Any:
        seen.append(path)
        return read_image_and_notes(path)

    monkeypatch.setattr(decoded_images, "read_image_and_notes", counted)
    return seen


def test_a_second_run_decodes_nothing_and_sees_the_same(
    samples: list[Sample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = decoded(samples, None)
    assert expected.notes
    cache, seen = PixelCache(tmp_path / "cache"), reads(monkeypatch)
    assert same(decoded(samples, cache), expected) and len(seen) == 3
    again = decoded(samples, PixelCache(tmp_path / "cache"))
    assert same(again, expected) and len(seen) == 3
    assert same(decoded(samples, cache, masks=False), decoded(samples, None, masks=False))
    again[0].image.add_(1)  # training may write to its own


def test_another_image_mask_size_or_tag_is_another_entry(samples: list[Sample], tmp_path: Path) -> None:
    cache = PixelCache(tmp_path / "cache")
    one = samples[0]
    names = [cache.name(one, SIZE, Classes(), False), cache.name(one, (32, 24), Classes(), False)]
    names += [cache.name(one, SIZE, Classes(), True), cache.name(one, SIZE, None, False)]
    names += [cache.name(replace(one, tag=-1), SIZE, Classes(), False)]
    names += [cache.name(one, SIZE, Classes(("a", "b", "c")), False), cache.name(samples[1], SIZE, Classes(), False)]
    assert one.mask is not None
    one.mask.write_bytes(samples[1].mask.read_bytes() if samples[1].mask else b"")
    names.append(cache.name(one, SIZE, Classes(), False))
    assert None not in names and len(set(names)) == len(names)
    unmasked = cache.name(one, SIZE, None, False)
    one.mask.write_bytes(b"noise")  # a mask that may not be opened has no say
    assert cache.name(one, SIZE, None, False) == unmasked


def test_whatever_is_damaged_is_decoded_again(samples: list[Sample], tmp_path: Path) -> None:
    expected, cache = decoded(samples, None), PixelCache(tmp_path / "cache")
    decoded(samples, cache)
    files = sorted((tmp_path / "cache").glob("*/*"))
    files[0].write_bytes(files[0].read_bytes()[:-5])
    files[1].write_bytes(b"")
    content = bytearray(files[2].read_bytes())
    content[-1] ^= 1
    files[2].write_bytes(content)
    assert same(decoded(samples, cache), expected)
    assert same(decoded(samples, cache), expected)


def test_a_fault_is_never_kept(samples: list[Sample], tmp_path: Path) -> None:
    cache = PixelCache(tmp_path / "cache")
    assert samples[0].mask is not None
    Image.new("L", (5, 5)).save(samples[0].mask)
    for _ in range(2):
        with pytest.raises(DataError, match="5 x 5"):
            decoded(samples, cache)


def test_the_folder_stays_below_its_limit_and_leftovers_go(samples: list[Sample], tmp_path: Path) -> None:
    cache = PixelCache(tmp_path / "cache", limit=2 * SIZE[0] * SIZE[1] * 4 + 1000)
    assert not cache.takes(cache.limit) and cache.takes(100)
    left = tmp_path / "cache" / "aa" / ".x.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"")
    os.utime(left, (0, 0))
    for sample in samples:
        name = cache.name(sample, SIZE, Classes(), False)
        assert name is not None
        cache.put(name, (np.zeros((3, *SIZE), np.uint8), np.zeros(SIZE, np.uint8)), set())
    cache.trim()
    files = list((tmp_path / "cache").glob("*/*"))
    assert len(files) == 2 and not left.exists()


def test_a_disk_that_takes_nothing_is_no_obstacle(samples: list[Sample], tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"")  # a file in the way
    cache = PixelCache(tmp_path / "cache")
    assert not cache.takes(1)
    assert same(decoded(samples, cache), decoded(samples, None))
    cache.put("abc", (np.zeros((3, 1, 1), np.uint8), None), set())
    assert cache.get("abc", (1, 1), masks=False) is None
