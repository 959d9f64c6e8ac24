"""Decoded images that several runs of one process share."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline import decode_cache
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.read.checked_mask import check_masks
from endotransfer.errors import DataError

SETTINGS: dict[str, Any] = {"masks": True, "cache": "auto", "keep_contradictions": False, "memory_share": 0.5}


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    made = []
    for index in range(2):
        image, mask = tmp_path / f"{index}.png", tmp_path / f"{index}m.png"
        Image.fromarray(np.full((40, 40, 3), 100 * index, np.uint8)).save(image)
        Image.fromarray(np.eye(40, dtype=np.uint8) * 255).save(mask)
        made.append(Sample(f"a/{index}", image, mask))
    return made


def decode(cached: DecodeCache, samples: list[Sample], **changes: Any) -> DecodedImages:
    return cached.decoded_images(samples, changes.pop("size", (32, 32)), Classes(), **SETTINGS | changes)


def test_the_same_images_are_decoded_once(samples: list[Sample]) -> None:
    cached = DecodeCache()
    first = decode(cached, samples)
    assert decode(cached, list(samples)) is first
    assert decode(cached, samples, masks=False) is not first
    assert decode(cached, samples, size=(40, 40)) is not first
    assert decode(cached, samples[:1]) is not first
    assert decode(cached, samples, cache="never") is not first


def test_a_changed_file_is_decoded_again(samples: list[Sample]) -> None:
    cached = DecodeCache()
    first = decode(cached, samples)
    Image.fromarray(np.full((40, 40, 3), 7, np.uint8)).save(samples[0].image)
    again = decode(cached, samples)
    assert again is not first
    assert int(again[0].image[0, 0, 0]) == 7
    assert samples[0].mask is not None
    Image.fromarray(np.zeros((40, 40), np.uint8)).save(samples[0].mask)
    assert decode(cached, samples) is not again


def test_masks_are_checked_once_and_again_when_one_has_changed(
    samples: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def count(checked: list[Sample], classes: Classes, *, keep_contradictions: bool) -> Counter[str]:
        read.append(len(checked))
        return check_masks(checked, classes, keep_contradictions=keep_contradictions)

    def notes(cached: DecodeCache) -> Counter[str]:
        return cached.mask_notes(samples, Classes(), keep_contradictions=False)

    monkeypatch.setattr(decode_cache, "check_masks", count)
    plain, cached = check_masks(samples, Classes()), DecodeCache()
    assert notes(cached) == notes(cached) == plain
    assert read == [2]
    assert samples[0].mask is not None
    Image.fromarray(np.zeros((30, 40), np.uint8)).save(samples[0].mask)
    for _ in range(2):  # a fault is never remembered as sound
        with pytest.raises(DataError, match="size"):
            notes(cached)
    read.clear()
    with pytest.raises(DataError, match="size"):
        notes(DecodeCache(most_sets=0))
    assert read == [2]


def test_the_caller_may_add_to_the_notes(samples: list[Sample]) -> None:
    cached = DecodeCache()
    first = cached.mask_notes(samples, Classes(), keep_contradictions=False)
    first["of the caller"] += 1
    assert "of the caller" not in cached.mask_notes(samples, Classes(), keep_contradictions=False)


def test_a_cache_of_no_sets_remembers_nothing_and_a_new_one_starts_empty(samples: list[Sample]) -> None:
    nothing, first = DecodeCache(most_sets=0), decode(DecodeCache(), samples)
    assert decode(nothing, samples) is not decode(nothing, samples)
    assert decode(DecodeCache(), samples) is not first


def test_cached_sets_make_room_for_a_new_one(samples: list[Sample], monkeypatch: pytest.MonkeyPatch) -> None:
    cached = DecodeCache()
    first = decode(cached, samples)
    monkeypatch.setattr(decode_cache, "free_memory", lambda: 100)
    second = decode(cached, samples, size=(40, 40))
    assert decode(cached, samples, size=(40, 40)) is second
    assert decode(cached, samples) is not first


def test_what_was_read_of_an_image_is_remembered_until_a_file_or_the_question_changes(samples: list[Sample]) -> None:
    cached, seen = DecodeCache(), list[str]()

    def read(sample: Sample) -> int:
        seen.append(sample.key)
        return len(seen)

    def ask(about: str = "size 32", pixels: tuple[int, int] | None = (32, 32)) -> list[int]:
        reader = cached.remembering(read, samples, about=about, pixels=pixels)
        return [reader(sample) for sample in samples]

    assert ask() == ask() == [1, 2]
    Image.fromarray(np.full((40, 40, 3), 9, np.uint8)).save(samples[1].image)
    assert ask() == [3, 4]
    assert ask("size 64") == [5, 6]
    assert ask(pixels=None) != ask(pixels=None)  # images of any size are read again each time
