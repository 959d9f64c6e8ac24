"""Centroids with history against Algorithm 3 by loops; gradients only through the newest term."""

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import IGNORE
from endotransfer.losses.centroids import (
    Absent,
    Average,
    Centroids,
    DomainCentroids,
    History,
    alignment,
    class_sums,
    global_sum_with_gradient,
    labels_at,
)
from tests import literal
from tests.gradients import gradient
from tests.properties import examples

Batches = list[tuple[Tensor, Tensor]]
Case = tuple[Batches, int]


@st.composite
def steps(draw: st.DrawFn) -> Case:
    """A few steps' (features [B, C, h, w] float64, labels [B, h, w]), and the number of classes."""
    classes, channels = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    batches = []
    for _ in range(draw(st.integers(1, 4))):
        shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
        labels = torch.randint(0, classes + draw(st.integers(0, 2)), shape, generator=generator)
        labels[labels >= classes] = IGNORE
        labels[labels == draw(st.integers(0, classes))] = IGNORE  # often one class is absent
        features = torch.randn(shape[0], channels, *shape[1:], generator=generator, dtype=torch.float64)
        batches.append((features, labels))
    return batches, classes


def literal_newest(features: Tensor, labels: Tensor, k: int, over: Average) -> list[float]:
    pixels = features.movedim(1, -1).flatten(0, 2)
    return literal.newest_centroid(pixels.tolist(), labels.flatten().tolist(), k, over)


def run(centroids: Centroids, batches: Batches, classes: int) -> Tensor:
    centroids = centroids.double()
    for features, labels in batches:
        current: Tensor = centroids(*class_sums(features, labels, classes), labels.numel())
    return current


@given(steps(), st.floats(0, 0.99), st.sampled_from(get_args(Average)))
@examples(300)
def test_sum_is_algorithm_3(case: Case, gamma: float, average: Average) -> None:
    batches, classes = case
    channels = batches[0][0].shape[1]
    found = run(Centroids(classes, channels, gamma, average=average), batches, classes)
    for k in range(classes):
        newest = [literal_newest(*batch, k, average) for batch in batches]
        assert found[k].tolist() == pytest.approx(literal.algorithm_3_sum(newest, gamma), abs=1e-9)


@given(steps(), st.floats(0, 0.99), st.sampled_from(get_args(Average)))
@examples(300)
def test_moving_average_starts_at_the_first_and_skips_absent_classes(
    case: Case, gamma: float, average: Average
) -> None:
    batches, classes = case
    channels = batches[0][0].shape[1]
    found = run(Centroids(classes, channels, gamma, average=average, history="moving_average"), batches, classes)
    for k in range(classes):
        expected = None
        for features, labels in batches:
            if (labels == k).any():
                newest = torch.tensor(literal_newest(features, labels, k, average))
                expected = newest if expected is None else gamma * expected + (1 - gamma) * newest
        expected = torch.zeros(channels) if expected is None else expected
        assert found[k].tolist() == pytest.approx(expected.tolist(), abs=1e-5)


@given(steps(), st.floats(0, 0.99), st.sampled_from(get_args(Average)))
@examples(300)
def test_weighted_mean_is_the_sum_over_its_weights(case: Case, gamma: float, average: Average) -> None:
    batches, classes = case
    channels = batches[0][0].shape[1]
    found = run(Centroids(classes, channels, gamma, average=average, history="weighted_mean"), batches, classes)
    weights = sum(gamma**age for age in range(len(batches)))
    for k in range(classes):
        newest = [literal_newest(*batch, k, average) for batch in batches]
        expected = [value / weights for value in literal.algorithm_3_sum(newest, gamma)]
        assert found[k].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_weighted_mean_is_no_longer_after_many_steps_and_a_sum_is() -> None:
    lengths = {}
    for history in ("weighted_mean", "sum"):
        centroids = Centroids(1, 1, 0.7, average="class_pixels", history=history)
        lengths[history] = [centroids(torch.ones(1, 1), torch.tensor([1]), 1).item() for _ in range(30)]
    assert lengths["weighted_mean"] == pytest.approx([1.0] * 30)
    assert lengths["sum"][-1] == pytest.approx(1 / 0.3, rel=1e-3)


def test_unlabelled_pixels_do_not_shrink_a_centroid_over_labelled_ones() -> None:
    """Three quarters of the target have no pseudo-label at first: divided by all pixels it never meets the source."""
    features, whole = torch.ones(1, 2, 2, 2), torch.zeros(1, 2, 2, dtype=torch.long)
    sparse = torch.tensor([[[0, IGNORE], [IGNORE, IGNORE]]])
    found = {}
    for average in ("labelled_pixels", "all_pixels"):
        of_both = [Centroids(1, 2, average=average)(*class_sums(features, some, 1), 4) for some in (whole, sparse)]
        found[average] = alignment(of_both[0], of_both[1], 1.0).item()
    assert found == {"labelled_pixels": 0.0, "all_pixels": pytest.approx(2 * (0.75**2 + 0.75))}


def test_a_mean_distance_is_equation_7_over_channels_and_classes() -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.rand(2, 6, 4, 4, generator=generator)
    labels = torch.randint(0, 3, (2, 8, 8), generator=generator)
    found = {
        distance: DomainCentroids(
            3, 6, 0.7, 1.0, average="labelled_pixels", history="weighted_mean", distance=distance
        )(features, labels, features.flip(0), labels)
        for distance in ("sum", "mean")
    }
    torch.testing.assert_close(found["mean"], found["sum"] / 18)


@given(steps(), st.floats(0, 2))
@examples(300)
def test_alignment_is_equation_7(case: Case, alpha: float) -> None:
    batches, classes = case
    source, target = (class_sums(*batches[i], classes)[0] for i in (0, -1))
    expected = literal.equation_7(source.tolist(), target.tolist(), alpha)
    assert alignment(source, target, alpha).item() == pytest.approx(expected)


def test_alignment_can_leave_classes_out() -> None:
    source, target = torch.tensor([[1.0, 2.0], [5.0, 5.0]]), torch.tensor([[0.0, 0.0], [0.0, 0.0]])
    assert alignment(source, target, 1.0, torch.tensor([True, False])).item() == 1 + 4 + 1 + 2


@pytest.mark.parametrize("absent", ["add_zero", "skip"])
def test_absent_class_fades_as_printed_or_stays(absent: Absent) -> None:
    centroids = Centroids(2, 1, 0.5, average="class_pixels", absent=absent)
    centroids(torch.tensor([[4.0], [8.0]]), torch.tensor([1, 1]), 2)
    current = centroids(torch.tensor([[1.0], [0.0]]), torch.tensor([1, 0]), 1)
    assert current.flatten().tolist() == [0.5 * 4 + 1, 4.0 if absent == "add_zero" else 8.0]


@pytest.mark.parametrize("history, weight", [("sum", 1.0), ("weighted_mean", 1 / 1.7), ("moving_average", 0.3)])
def test_only_the_newest_term_carries_gradient(history: History, weight: float) -> None:
    centroids = Centroids(1, 1, 0.7, average="class_pixels", history=history)
    old, new = (torch.tensor([[value]], requires_grad=True) for value in (3.0, 5.0))
    centroids(old, torch.tensor([1]), 1)
    newest = gradient(centroids(new, torch.tensor([1]), 1).sum(), new)
    assert old.grad is None
    assert newest.item() == pytest.approx(weight)
    assert not centroids.history.requires_grad


@pytest.mark.parametrize("average", get_args(Average))
@pytest.mark.parametrize("history", get_args(History))
def test_gradient_reaches_the_features(average: Average, history: History) -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(2, 3, 2, 2, generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[[0, 1], [IGNORE, 1]], [[1, 1], [0, 0]]])

    def loss(features: Tensor) -> Tensor:
        centroids = Centroids(3, 3, average=average, history=history).double()
        centroids.history += 0.5
        return alignment(centroids(*class_sums(features, labels, 3), 8), torch.ones(3, 3).double(), 0.5)

    assert torch.autograd.gradcheck(loss, features)


def test_nothing_labelled_gives_zero_and_finite_gradients() -> None:
    features = torch.randn(1, 4, 3, 3, requires_grad=True)
    sums, counts = class_sums(features, torch.full((1, 3, 3), IGNORE), 2)
    for average in get_args(Average):
        current = Centroids(2, 4, average=average)(sums, counts, 0)
        assert (current == 0).all()
        loss = alignment(current, torch.zeros(2, 4), 1.0)
        assert (gradient(loss, features, retain_graph=True) == 0).all()


def test_a_batch_without_images_sums_to_nothing() -> None:
    sums, counts = class_sums(torch.zeros(0, 4, 3, 3), torch.zeros(0, 3, 3, dtype=torch.int64), 2)
    assert sums.tolist() == [[0.0] * 4] * 2 and counts.tolist() == [0, 0]


def test_half_precision_is_summed_in_float32_even_in_autocast() -> None:
    features = torch.full((1, 1, 64, 64), 1.01, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        sums, counts = class_sums(features, torch.zeros(1, 64, 64, dtype=torch.uint8), 1)
    assert sums.dtype == torch.float32
    assert sums.item() == pytest.approx(features[0, 0, 0, 0].item() * 4096, rel=1e-6)
    assert counts.item() == 4096


def test_state_survives_a_checkpoint() -> None:
    batches = [(torch.randn(1, 2, 3, 3), torch.randint(0, 2, (1, 3, 3))) for _ in range(3)]
    first, second = Centroids(2, 2, history="moving_average"), Centroids(2, 2, history="moving_average")
    run(first, batches[:2], 2)
    second.double().load_state_dict(first.state_dict())
    assert torch.equal(run(first, batches[2:], 2), run(second, batches[2:], 2))


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (4, 8), (7, 2), (8, 16), (11, 40)])
def test_labels_are_sampled_at_cell_centres(size: tuple[int, int]) -> None:
    labels = torch.randint(0, 200, (2, 8, 16))
    expected = interpolate(labels.unsqueeze(1).double(), size=size, mode="nearest-exact").squeeze(1).long()
    assert torch.equal(labels_at(labels, size), expected)


def test_with_one_process_the_global_sum_is_the_local_one() -> None:
    local = torch.tensor([2.0, 3.0], requires_grad=True)
    total = global_sum_with_gradient(local)
    assert torch.equal(total, local) and gradient(total.sum(), local).tolist() == [1.0, 1.0]
