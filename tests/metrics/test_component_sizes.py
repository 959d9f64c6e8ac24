"""Components of masks of a usual size, against a library that labels them and a table of pairs."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, label

from endotransfer.metrics.compiled.component_sizes import component_sizes

Mask = NDArray[np.bool_]
RANDOM = np.random.default_rng(0)


def labelled_sizes(mask: Mask, other: Mask, counted: Mask) -> NDArray[np.int64]:
    components, number = label(mask, structure=np.ones((3, 3)))
    pairs = np.where(counted, 2 * components + other, 0)
    table = np.bincount(pairs.ravel(), minlength=2 * (number + 1)).reshape(-1, 2)[1:]
    return np.stack([table.sum(1), table[:, 1]], axis=1)


def comb(height: int, width: int) -> Mask:
    """Teeth that meet in the last row alone: as many labels as there can be, all of them one component."""
    mask = np.zeros((height, width), bool)
    mask[:, ::2] = True
    mask[-1] = True
    return mask


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.7, 0.95])
@pytest.mark.parametrize("coarse", [0, 3])
def test_sizes_equal_those_of_a_library(share: float, coarse: int) -> None:
    field = gaussian_filter(RANDOM.normal(size=(97, 131)), coarse)
    mask = field > np.quantile(field, 1 - share)
    other, counted = RANDOM.random((2, 97, 131)) < 0.6
    np.testing.assert_array_equal(component_sizes(mask, other, counted), labelled_sizes(mask, other, counted))


@pytest.mark.parametrize("turns", range(4))
def test_labels_that_meet_late_are_one(turns: int) -> None:
    mask = np.ascontiguousarray(np.rot90(comb(40, 61), turns))
    everywhere = np.ones_like(mask)
    np.testing.assert_array_equal(component_sizes(mask, everywhere, everywhere), [[mask.sum(), mask.sum()]])


def test_single_pixels_as_many_as_fit_are_all_counted() -> None:
    mask = np.zeros((31, 45), bool)
    mask[::2, ::2] = True
    found = component_sizes(mask, ~mask, np.ones_like(mask))
    np.testing.assert_array_equal(found, [[1, 0]] * (16 * 23))
