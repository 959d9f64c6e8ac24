"""What a mask covers, counted quickly and as a histogram would."""

import numpy as np
import pytest
from scipy import ndimage

from endotransfer.data.inspect.mask_look import look_at_mask, suspicions
from endotransfer.label_values import IGNORE


@pytest.mark.parametrize("classes", [2, 3])
def test_pixels_are_counted_as_by_a_histogram(classes: int) -> None:
    values = np.array([*range(classes), IGNORE], np.uint8)
    mask = np.random.default_rng(0).choice(values, (40, 50))
    histogram = np.bincount(mask.ravel(), minlength=256)
    assert look_at_mask(mask, classes).pixels.tolist() == [*histogram[:classes], histogram[IGNORE]]


def test_specks_are_those_of_the_whole_mask() -> None:
    mask = np.zeros((400, 500), np.uint8)
    mask[150:200, 200:260] = 1
    mask[np.arange(10, 390, 40), np.arange(20, 480, 48)] = 1
    areas = np.bincount(ndimage.label(mask, np.ones((3, 3)))[0].ravel())[1:]
    (fault,) = suspicions(mask, look_at_mask(mask, 2), "a.png")
    assert fault.what == f"has {(areas == 1).sum()} stray specks beside the lesion"


@pytest.mark.parametrize(
    ("drawn", "code"),
    [("inverted", ["inverted-mask"]), ("small inverted", ["inverted-mask"]), ("large", []), ("full", ["full-mask"])],
)
def test_a_mask_is_inverted_if_it_is_large_and_covers_the_rim(drawn: str, code: list[str]) -> None:
    mask = np.ones((60, 80), np.uint8)
    if drawn == "inverted":
        mask[20:40, 20:50] = 0
    if drawn == "small inverted":  # most lesions are small: 2 % of the image
        mask[30:40, 20:30] = 0
    if drawn == "large":  # a large lesion that leaves two sides free
        mask[:, :12] = mask[:6] = 0
    assert [fault.code for fault in suspicions(mask, look_at_mask(mask, 2), "a.png")] == code
