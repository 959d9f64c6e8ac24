"""Drawing: every class is seen, and the quick way gives what the plain one gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from skimage.segmentation import find_boundaries

from endotransfer.batch import IGNORE
from endotransfer.predict.overlay import COLOURS, overlay

Pixels = NDArray[np.uint8]
SIDES = st.integers(1, 7)


def literal_overlay(pixels: Pixels, mask: Pixels, opacity: float) -> Pixels:
    """Pixel by pixel."""
    drawn = pixels.copy()
    edges = find_boundaries(mask, mode="inner")  # type: ignore[no-untyped-call]
    for place in np.ndindex(*mask.shape):
        if mask[place] not in (0, IGNORE):
            colour = COLOURS[(int(mask[place]) - 1) % len(COLOURS)]
            mixed = ((1 - opacity) * pixels[place] + opacity * colour).astype(np.uint8)
            drawn[place] = colour if edges[place] else mixed
    return drawn


@given(
    arrays(np.uint8, st.tuples(SIDES, SIDES), elements=st.sampled_from([0, 0, 1, 2, 14, IGNORE])),
    st.sampled_from([0.0, 0.35, 1.0]),
    st.integers(0, 99),
)
def test_it_is_what_the_literal_twin_draws(mask: Pixels, opacity: float, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (*mask.shape, 3), dtype=np.uint8)
    before = pixels.copy()
    np.testing.assert_array_equal(overlay(pixels, mask, opacity), literal_overlay(pixels, mask, opacity))
    np.testing.assert_array_equal(pixels, before)


@pytest.mark.parametrize("label", [1, 2, 5, 6, 12, 18, 254])
def test_every_lesion_class_is_seen_on_black(label: int) -> None:
    mask = np.zeros((9, 9), np.uint8)
    mask[2:7, 2:7] = label
    drawn = overlay(np.zeros((9, 9, 3), np.uint8), mask)
    assert drawn[4, 4].max() > 40
    assert (drawn[2, 2] > drawn[4, 4]).any()  # the outline
    assert drawn[0, 0].max() == 0


def test_neighbouring_classes_differ_in_colour() -> None:
    mask = np.arange(255, dtype=np.uint8)[None].repeat(3, 0)
    drawn = overlay(np.zeros((3, 255, 3), np.uint8), mask)[1]
    assert (drawn[1:] != drawn[:-1]).any(1).all()


def test_what_nobody_labelled_is_left_alone() -> None:
    pixels = np.full((4, 4, 3), 77, np.uint8)
    assert (overlay(pixels, np.full((4, 4), IGNORE, np.uint8)) == pixels).all()
