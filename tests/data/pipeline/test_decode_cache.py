"""Decoded images that several runs of one process share."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline import decode_cache as kept
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


def decode(samples: list[Sample], **changes: Any) -> DecodedImages:
    return kept.decoded_images(samples, changes.pop("size", (32, 32)), Classes(), **SETTINGS | changes)


def test_the_same_images_are_decoded_once(samples: list[Sample]) -> None:
    with kept.keep_decoded():
        first = decode(samples)
        assert decode(list(samples)) is first
        assert decode(samples, masks=False) is not first
        assert decode(samples, size=(40, 40)) is not first
        assert decode(samples[:1]) is not first
        assert decode(samples, cache="never") is not first


def test_a_changed_file_is_decoded_again(samples: list[Sample]) -> None:
    with kept.keep_decoded():
        first = decode(samples)
        Image.fromarray(np.full((40, 40, 3), 7, np.uint8)).save(samples[0].image)
        again = decode(samples)
        assert again is not first
        assert int(again[0].image[0, 0, 0]) == 7
        assert samples[0].mask is not None
        Image.fromarray(np.zeros((40, 40), np.uint8)).save(samples[0].mask)
        assert decode(samples) is not again


def test_masks_are_checked_once_and_again_when_one_has_changed(
    samples: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def count(checked: list[Sample], *args: Any, **settings: Any) -> Any:
        read.append(len(checked))
        return check_masks(checked, *args, **settings)

    def notes() -> Any:
        return kept.notes_on_masks(samples, Classes(), keep_contradictions=False)

    monkeypatch.setattr(kept, "check_masks", count)
    plain = check_masks(samples, Classes())
    with kept.keep_decoded():
        assert notes() == notes() == plain
        assert read == [2]
        assert samples[0].mask is not None
        Image.fromarray(np.zeros((30, 40), np.uint8)).save(samples[0].mask)
        with pytest.raises(DataError, match="size"):
            notes()
        with pytest.raises(DataError, match="size"):  # a fault is never remembered as sound
            notes()
    read.clear()
    with pytest.raises(DataError, match="size"):
        notes()
    assert read == [2]


def test_notes_that_were_given_away_may_be_added_to(samples: list[Sample]) -> None:
    with kept.keep_decoded():
        first = kept.notes_on_masks(samples, Classes(), keep_contradictions=False)
        first["of the caller"] += 1
        assert "of the caller" not in kept.notes_on_masks(samples, Classes(), keep_contradictions=False)


def test_nothing_is_kept_outside_the_block(samples: list[Sample]) -> None:
    with kept.keep_decoded():
        first = decode(samples)
    assert decode(samples) is not first
    with kept.keep_decoded():
        assert decode(samples) is not first


def test_what_is_kept_makes_room(samples: list[Sample], monkeypatch: pytest.MonkeyPatch) -> None:
    with kept.keep_decoded():
        first = decode(samples)
        monkeypatch.setattr(kept, "free_memory", lambda: 100)
        second = decode(samples, size=(40, 40))
        assert decode(samples, size=(40, 40)) is second
        assert decode(samples) is not first
