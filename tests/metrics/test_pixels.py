"""Confusion matrices and what follows from them, against loops over pixels and against torchmetrics."""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics.functional.classification import (
    multiclass_confusion_matrix,
    multiclass_f1_score,
    multiclass_jaccard_index,
    multiclass_precision,
    multiclass_recall,
)

from endotransfer import metrics
from endotransfer.batch import IGNORE
from endotransfer.errors import DataError
from endotransfer.metrics.counts import Labels, confusions
from endotransfer.metrics.rates import Statistic
from tests.properties import examples

Case = tuple[NDArray[np.int64], NDArray[np.int64], int]


@st.composite
def masks(draw: st.DrawFn, most_classes: int = 4) -> Case:
    """(prediction, truth, classes): small masks, classes often absent, pixels often ignored."""
    classes = draw(st.integers(2, most_classes))
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    truth_values = st.one_of(st.integers(0, classes - 1), st.just(IGNORE))
    prediction = draw(arrays(np.int64, shape, elements=st.integers(0, classes - 1)))
    return prediction, draw(arrays(np.int64, shape, elements=truth_values)), classes


def pairs(prediction: NDArray[np.int64], truth: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The (predicted, true) class of each labelled pixel, one by one."""
    everything = zip(prediction.ravel().tolist(), truth.ravel().tolist(), strict=True)
    return [(p, t) for p, t in everything if t != IGNORE]


def fraction(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def literal_rates(prediction: NDArray[np.int64], truth: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """IoU, Dice, precision, recall of each class from sets of pixels, as on a blackboard."""
    known = list(enumerate(pairs(prediction, truth)))
    rates = []
    for k in range(classes):
        predicted, true = {i for i, (p, _) in known if p == k}, {i for i, (_, t) in known if t == k}
        hits = len(predicted & true)
        rates.append(
            (
                fraction(hits, len(predicted | true)),
                fraction(2 * hits, len(predicted) + len(true)),
                fraction(hits, len(predicted)),
                fraction(hits, len(true)),
            )
        )
    return np.array(rates).T


@examples(400)
@given(masks())
def test_confusion_and_rates_equal_loops_over_pixels(case: Case) -> None:
    prediction, truth, classes = case
    matrix = metrics.confusion(prediction, truth, classes)
    expected = [[pairs(prediction, truth).count((p, t)) for p in range(classes)] for t in range(classes)]
    assert matrix.dtype == np.int64 and matrix.tolist() == expected
    measured = [rate(matrix) for rate in (metrics.iou, metrics.dice, metrics.precision, metrics.recall)]
    np.testing.assert_array_equal(measured, literal_rates(prediction, truth, classes))
    present = [value for value in metrics.iou(matrix) if not math.isnan(value)]
    np.testing.assert_allclose(metrics.miou(matrix), fraction(sum(present), len(present)), rtol=1e-12)


@examples(300)
@given(masks())
def test_merged_lesion_classes_equal_a_mask_merged_beforehand(case: Case) -> None:
    prediction, truth, classes = case
    matrix = metrics.confusion(prediction, truth, classes)
    binary = metrics.confusion(prediction > 0, np.where(truth == IGNORE, IGNORE, truth > 0), 2)
    np.testing.assert_array_equal(metrics.lesion_confusion(matrix), binary)
    np.testing.assert_equal(metrics.normal_iou(matrix), metrics.iou(binary)[0])
    np.testing.assert_equal(metrics.lesion_iou(matrix), metrics.iou(binary)[1])
    np.testing.assert_equal(metrics.lesion_dice(matrix), metrics.dice(binary)[1])


@pytest.mark.parametrize("classes", [2, 5, 19])
def test_torchmetrics_agrees(classes: int) -> None:
    generator = torch.Generator().manual_seed(classes)
    prediction, truth = torch.randint(0, classes, (2, 3, 32, 32), generator=generator)
    truth[:, :5] = IGNORE
    matrix = metrics.confusion(prediction, truth, classes)
    task: dict[str, Any] = {"num_classes": classes, "ignore_index": IGNORE}
    each = {**task, "average": "none"}
    assert matrix.tolist() == multiclass_confusion_matrix(prediction, truth, **task).tolist()
    twins: list[tuple[Statistic, Callable[..., Tensor]]] = [
        (metrics.iou, multiclass_jaccard_index),
        (metrics.dice, multiclass_f1_score),
        (metrics.precision, multiclass_precision),
        (metrics.recall, multiclass_recall),
    ]
    for ours, theirs in twins:
        np.testing.assert_allclose(ours(matrix), theirs(prediction, truth, **each).numpy(), rtol=1e-6)
    mean = multiclass_jaccard_index(prediction, truth, average="macro", **task)
    np.testing.assert_allclose(metrics.miou(matrix), mean.numpy(), rtol=1e-6)


def test_dice_and_iou_of_one_class_are_statistics_over_any_leading_shape() -> None:
    matrices = np.random.default_rng(0).integers(1, 9, (4, 5, 3, 3))
    assert metrics.miou(matrices).shape == metrics.lesion_dice(matrices).shape == (4, 5)
    np.testing.assert_array_equal(metrics.of_class(metrics.iou, 2)(matrices), metrics.iou(matrices)[..., 2])
    np.testing.assert_array_equal(metrics.of_class(metrics.dice, 1)(matrices), metrics.dice(matrices)[..., 1])


def test_an_absent_class_is_nan_and_left_out_of_the_mean() -> None:
    matrix = metrics.confusion(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 3)
    np.testing.assert_allclose(metrics.iou(matrix), [1 / 2, 2 / 3, np.nan])
    assert metrics.miou(matrix) == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_a_class_that_is_only_predicted_is_not_absent() -> None:
    matrix = metrics.confusion(np.array([0, 2]), np.array([0, 0]), 3)
    np.testing.assert_array_equal(metrics.iou(matrix), [0.5, np.nan, 0])
    np.testing.assert_array_equal(metrics.recall(matrix), [0.5, np.nan, np.nan])


def test_an_image_without_labelled_pixels_has_no_figures() -> None:
    matrix = metrics.confusion(np.zeros((4, 4), int), np.full((4, 4), IGNORE), 2)
    assert not matrix.any()
    assert np.isnan(metrics.iou(matrix)).all() and np.isnan(metrics.miou(matrix))


def test_one_pixel_and_no_pixel() -> None:
    assert metrics.confusion(np.array([[1]]), np.array([[0]]), 2).tolist() == [[0, 1], [0, 0]]
    assert metrics.confusion(np.zeros((0, 4), int), np.zeros((0, 4), int), 2).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int32", "flipped", "read-only", "torch", "torch uint8"])
def test_every_kind_of_integer_counts_alike(kind: str) -> None:
    prediction, truth = np.array([[0, 1], [1, 1]]), np.array([[0, 1], [IGNORE, 0]])
    expected = [[1, 1], [0, 1]]

    def like(labels: NDArray[np.int64]) -> Labels:
        if kind == "flipped":
            return np.ascontiguousarray(labels[::-1])[::-1]
        if kind == "read-only":
            copy = labels.copy()
            copy.flags.writeable = False
            return copy
        if kind.startswith("torch"):
            return torch.from_numpy(labels).to(torch.uint8 if "uint8" in kind else torch.int64)
        return labels.astype(kind)

    assert metrics.confusion(like(prediction), like(truth), 2).tolist() == expected


def test_a_prediction_may_hold_anything_where_the_truth_is_ignored() -> None:
    assert metrics.confusion(np.array([IGNORE, 7, 1]), np.array([IGNORE, IGNORE, 1]), 2).sum() == 1


@pytest.mark.parametrize(
    ("prediction", "truth", "message"),
    [
        ([0, 1], [0, 2], r"the mask of a/b holds class 2, but the classes are 0 to 1"),
        ([0, 1], [0, -1], r"the mask of a/b holds class -1"),
        ([0, 1], [0, 300], r"the mask of a/b holds class 300"),
        ([0, 5], [0, 1], r"the prediction of a/b holds class 5"),
        ([0, IGNORE], [0, 1], r"the prediction of a/b holds class 255"),
        ([0, 1, 1], [0, 1], r"the prediction of a/b has shape \[3\], but its mask has \[2\]"),
    ],
)
def test_what_cannot_be_scored_is_refused_by_name(prediction: list[int], truth: list[int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        metrics.confusion(np.array(prediction), np.array(truth), 2, image="a/b")


@pytest.mark.parametrize("probabilities", [np.array([0.2, 0.9]), torch.tensor([0.2, 0.9])])
def test_probabilities_are_not_silently_rounded_to_classes(probabilities: Labels) -> None:
    with pytest.raises(TypeError, match=r"the prediction holds .*float.* take argmax"):
        metrics.confusion(probabilities, np.array([0, 1]), 2)


def test_an_image_of_512_pixels_a_side_takes_less_than_5_ms() -> None:
    prediction, truth = np.random.default_rng(0).integers(0, 19, (2, 512, 512))
    assert quickest(lambda: metrics.confusion(prediction, truth, 19)) < 0.005


def quickest(work: Callable[[], object], times: int = 10) -> float:
    """The least of several timings: what the code needs when nobody else uses the core."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


@given(st.integers(1, 4), st.integers(2, 5), st.integers(0, 999))
def test_images_counted_at_once_are_counted_one_by_one(images: int, classes: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    predictions, truths = torch.randint(0, classes, (2, images, 4, 5), generator=draw).to(torch.uint8)
    truths[torch.rand(truths.shape, generator=draw) < 0.2] = IGNORE
    names = [f"image {index}" for index in range(images)]
    together = confusions(predictions, truths, classes, names)
    alone = [metrics.confusion(*pair, classes) for pair in zip(predictions, truths, strict=True)]
    np.testing.assert_array_equal(together, alone)


def test_of_images_counted_at_once_the_one_with_an_unknown_class_is_named() -> None:
    predictions, truths = torch.zeros(2, 3, 4, 4, dtype=torch.uint8)
    truths[1, 2, 2] = 7
    with pytest.raises(DataError, match=r"second.*7"):
        confusions(predictions, truths, 2, ["first", "second", "third"])
