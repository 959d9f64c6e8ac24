"""COCO json: whatever mask goes in, the importer's reading of the file gives it back."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from pycocotools import mask as pycocotools_mask

from endotransfer.data.importers.outlines import outline_mask, unpack_runs
from endotransfer.predict.coco_writer import CocoWriter, Form, pack_runs
from endotransfer.predict.prediction import Marks
from endotransfer.predict.regions import find_lesions

MASKS = arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12)), elements=st.sampled_from([0, 0, 1, 1, 2]))


def written(mask: NDArray[np.uint8], form: Form) -> dict[str, Any]:
    file = CocoWriter(["normal", "polyp", "ulcer"], form)
    file.add("x.png", Marks(mask, np.full(mask.shape, 0.75, np.float32), None))
    content: dict[str, Any] = json.loads(json.dumps(file.content()))
    return content


@pytest.mark.parametrize("form", ["rle", "polygons"])
@given(mask=MASKS)
def test_the_mask_can_be_had_back_exactly(form: Form, mask: NDArray[np.uint8]) -> None:
    content, back = written(mask, form), np.zeros_like(mask)
    for annotation in content["annotations"]:
        region = outline_mask(annotation["segmentation"], mask.shape)
        assert region.sum() == annotation["area"]
        assert not back[region].any()  # no pixel twice
        back[region] = annotation["category_id"]
    np.testing.assert_array_equal(back, mask)


@given(st.lists(st.integers(0, 10**7), min_size=1).map(np.array))
def test_packed_runs_are_read_back(runs: NDArray[np.int64]) -> None:
    assert unpack_runs(pack_runs(runs)) == runs.tolist()


@given(mask=MASKS)
def test_run_lengths_are_those_of_pycocotools(mask: NDArray[np.uint8]) -> None:
    """An independent implementation writes the same text and reads ours."""
    lesions = find_lesions(mask, np.ones(mask.shape, np.float32), smallest=1)
    for annotation, lesion in zip(written(mask, "rle")["annotations"], lesions, strict=True):
        region = np.zeros(mask.shape, np.uint8, order="F")
        height, width = lesion.region.shape
        region[lesion.top : lesion.top + height, lesion.left : lesion.left + width] = lesion.region
        assert annotation["segmentation"]["counts"] == pycocotools_mask.encode(region)["counts"].decode()
        np.testing.assert_array_equal(pycocotools_mask.decode(annotation["segmentation"]), region)
        assert list(pycocotools_mask.toBbox(annotation["segmentation"])) == annotation["bbox"]


def test_a_square_is_four_corners_and_a_ring_is_run_lengths() -> None:
    square = np.zeros((9, 9), np.uint8)
    square[2:7, 3:8] = 1
    (annotation,) = written(square, "polygons")["annotations"]
    (polygon,) = annotation["segmentation"]
    assert len(polygon) == 16  # four corners, each cut off by half a pixel
    assert (annotation["bbox"], annotation["score"], annotation["iscrowd"]) == ([3, 2, 5, 5], 0.75, 0)
    square[4, 5] = 0
    assert "counts" in written(square, "polygons")["annotations"][0]["segmentation"]


def test_lesions_are_sorted_and_specks_left_out() -> None:
    mask = np.zeros((20, 20), np.uint8)
    mask[0:4, 0:4] = 2
    mask[10:15, 10:15] = 1
    mask[15:17, 15:17] = 1  # touches it at a corner
    mask[0:6, 10:16] = 1
    mask[19, 0] = 1
    sure = np.full((20, 20), 0.5, np.float32)
    sure[0:4, 0:4] = 1
    found = find_lesions(mask, sure)
    assert [(one.label, one.area, one.box) for one in found] == [
        (1, 36, (10, 0, 6, 6)), (1, 29, (10, 10, 7, 7)), (2, 16, (0, 0, 4, 4)),
    ]  # fmt: skip
    assert [one.confidence for one in found] == [0.5, 0.5, 1.0]
    assert find_lesions(np.zeros((3, 3), np.uint8), np.ones((3, 3), np.float32)) == []
