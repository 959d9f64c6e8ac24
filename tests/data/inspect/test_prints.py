"""Finger-prints: fast pair search and grouping equal slow literal ones; copies are near, other pictures far."""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image, ImageEnhance
from scipy.fft import dctn

from endotransfer.data.inspect import prints as module
from endotransfer.data.inspect.prints import (
    PERHAPS,
    SAME,
    components,
    near_pairs,
    perceptual_hash,
    similar,
    take_prints,
)
from tests.properties import examples

Photo = Callable[[int], NDArray[np.uint8]]


def distance(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> int:
    return sum(bin(int(x) ^ int(y)).count("1") for x, y in zip(a, b, strict=True))


@examples(60)
@given(
    bits=arrays(np.uint64, st.tuples(st.integers(0, 9), st.just(2)), elements=st.integers(0, 15)),
    limit=st.integers(0, 4),
)
def test_pairs_equal_the_double_loop(bits: NDArray[np.uint64], limit: int) -> None:
    literal = [(i, j) for i, j in combinations(range(len(bits)), 2) if distance(bits[i], bits[j]) <= limit]
    assert sorted(map(tuple, near_pairs(bits, limit).tolist())) == literal


def test_pairs_do_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = np.random.default_rng(0).integers(0, 4, (23, 4)).astype(np.uint64)
    whole = near_pairs(bits, 3)
    monkeypatch.setattr(module, "_BLOCK", 50)
    assert np.array_equal(near_pairs(bits, 3), whole)
    assert len(whole)


@examples(60)
@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_components_equal_repeated_merging(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, pairs = case
    literal = list(range(count))
    for _ in range(count):
        for i, j in pairs:
            literal[i] = literal[j] = min(literal[i], literal[j])
    order = sorted(set(literal))
    found = components(count, np.array(pairs, np.intp).reshape(-1, 2))
    assert found.tolist() == [order.index(label) for label in literal]


def test_hash_is_the_sign_of_low_frequencies_against_their_median() -> None:
    grey = np.random.default_rng(3).random((32, 32))
    low = [dctn(grey, norm="ortho")[i, j] for i in range(16) for j in range(16)][1:]
    literal = "".join("1" if value > np.median(low) else "0" for value in low) + "0"
    stored = "".join(f"{byte:08b}" for byte in perceptual_hash(grey).tobytes())
    assert stored == literal


def variants(pixels: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    image, stored = Image.fromarray(pixels), BytesIO()
    image.save(stored, "JPEG", quality=60)
    changed = [
        image.resize((image.width * 2, image.height * 2)),
        Image.open(stored),
        ImageEnhance.Brightness(image).enhance(0.8),
        ImageEnhance.Contrast(image).enhance(0.9),
    ]
    return [np.asarray(one) for one in changed]


def test_copies_are_near_and_other_pictures_far(photo: Photo) -> None:
    for seed in range(6):
        original = take_prints(photo(seed)).bits
        assert all(distance(original, take_prints(copy).bits) <= SAME for copy in variants(photo(seed)))
        assert distance(original, take_prints(photo(seed + 100)).bits) > 2 * SAME


def scene(seed: int) -> NDArray[np.uint8]:
    """Structure at all scales [192, 256, 3], as tissue has it."""
    rng, total = np.random.default_rng(seed), np.zeros((192, 256))
    for cells, strength in ((3, 40), (6, 24), (12, 16), (24, 8)):
        coarse = Image.fromarray(rng.normal(size=(cells, cells * 4 // 3)).astype(np.float32))
        total += strength * np.asarray(coarse.resize((256, 192), Image.Resampling.BICUBIC))
    return (np.array([180, 90, 80]) + total[..., None]).clip(40, 255).astype(np.uint8)


@pytest.mark.parametrize("seed", range(4))
def test_a_frame_that_moved_a_little_is_the_same_moment(seed: int) -> None:
    still, moved = take_prints(scene(seed)[3:, 3:]), take_prints(scene(seed)[:-3, :-3])
    assert distance(still.bits, moved.bits) > SAME
    assert similar([still, moved, take_prints(scene(seed + 10))]).tolist() == [[0, 1]]


def test_a_similar_hash_over_other_tissue_is_another_moment() -> None:
    one, other = take_prints(scene(0)), take_prints(scene(1))
    flipped = np.packbits(np.arange(256) < SAME + 10).view(np.uint64)
    assert distance(one.bits, one.bits ^ flipped) == SAME + 10 < PERHAPS
    assert similar([one, replace(one, digest="x", bits=one.bits ^ flipped)]).tolist() == [[0, 1]]
    assert not len(similar([one, replace(other, bits=one.bits ^ flipped)]))


def test_equal_pixels_and_flat_images(photo: Photo) -> None:
    black, grey = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 90, np.uint8)
    pictures = [photo(0), black, photo(1), grey, photo(0), black]
    found = {tuple(sorted(pair)) for pair in similar([take_prints(picture) for picture in pictures]).tolist()}
    assert found == {(0, 4), (1, 5)}  # flat images have no structure: only equal pixels count


def test_the_same_bytes_in_another_shape_are_another_image() -> None:
    flat = np.arange(48, dtype=np.uint8)
    assert take_prints(flat.reshape(4, 4, 3)).digest != take_prints(flat.reshape(2, 8, 3)).digest


def test_nothing_to_compare() -> None:
    assert similar([]).shape == (0, 2)
