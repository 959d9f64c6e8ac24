"""Super-pixel voting against Algorithm 2 pixel by pixel."""

import itertools
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.pseudo_labels import pixel_loops as compiled
from endotransfer.pseudo_labels.vote import vote_in_place, vote_superpixels, vote_synchronously
from tests import literal
from tests.properties import examples

Labelled = tuple[NDArray[np.uint8], NDArray[np.int32], int]
Rule = Callable[[Tensor, Tensor, int], Tensor]


@st.composite
def labelled_images(draw: st.DrawFn) -> Labelled:
    """Labels [H, W] uint8, super-pixels [H, W] int32, classes: small, and often near the five votes that are needed."""
    classes = draw(st.integers(1, 5))
    shape = (draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    common = draw(st.integers(0, classes - 1))
    label = st.sampled_from([common, common, common, IGNORE, *range(classes)])
    labels = draw(hnp.arrays(np.uint8, shape, elements=label))
    superpixels = draw(hnp.arrays(np.int32, shape, elements=st.sampled_from([4, 4, 4, 4, 4, 9])))
    return labels, superpixels, classes


def as_batch(array: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(array).unsqueeze(0)


@given(labelled_images())
@examples(500)
def test_in_place_is_algorithm_2(image: Labelled) -> None:
    labels, superpixels, classes = image
    expected = literal.algorithm_2(labels.tolist(), superpixels.tolist(), classes)
    plain = labels.copy()
    compiled.vote_along_the_raster.py_func(plain, superpixels, classes)
    result = vote_in_place(labels, superpixels, classes)
    assert result is labels
    assert result.tolist() == plain.tolist() == expected


@given(labelled_images(), st.integers(1, 3))
@examples(500)
def test_synchronous_is_algorithm_2_from_the_previous_state(image: Labelled, iterations: int) -> None:
    labels, superpixels, classes = image
    expected = labels.tolist()
    for _ in range(iterations):
        expected = literal.algorithm_2_synchronous(expected, superpixels.tolist(), classes)
    result = vote_synchronously(as_batch(labels), as_batch(superpixels), classes, iterations)
    assert result[0].tolist() == expected


@given(labelled_images())
@examples(300)
def test_whole_superpixels_take_their_commonest_label(image: Labelled) -> None:
    labels, superpixels, classes = image
    expected = literal.fill_superpixels(labels.tolist(), superpixels.tolist(), classes)
    assert vote_superpixels(as_batch(labels), as_batch(superpixels), classes)[0].tolist() == expected


RULES = [
    lambda labels, segments, classes: torch.from_numpy(vote_in_place(labels.numpy(), segments.numpy(), classes)),
    vote_synchronously,
    vote_superpixels,
]


@pytest.fixture(params=RULES, ids=["in_place", "synchronous", "superpixel"])
def rule(request: pytest.FixtureRequest) -> Rule:
    return cast(Rule, request.param)


def test_images_of_a_batch_do_not_mix(rule: Rule) -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 4, (4, 12, 12), generator=generator, dtype=torch.uint8)
    labels[labels == 2] = IGNORE
    labels[:2][labels[:2] == 3], labels[2:][labels[2:] == 3] = 0, 1  # a majority in each image
    segments = torch.randint(0, 2, (4, 12, 12), generator=generator)
    segments[1:] = 0  # images differ in their segments, too
    together = rule(labels.clone(), segments, 2)
    apart = [rule(labels[i : i + 1].clone(), segments[i : i + 1], 2) for i in range(4)]
    assert torch.equal(together, torch.cat(apart))
    assert not torch.equal(together, labels)


def test_nothing_grows_out_of_nothing_and_nothing_labelled_changes(rule: Rule) -> None:
    segments = torch.zeros(1, 6, 6, dtype=torch.int64)
    empty = torch.full((1, 6, 6), IGNORE, dtype=torch.uint8)
    full = torch.randint(0, 3, (1, 6, 6), dtype=torch.uint8)
    assert (rule(empty.clone(), segments, 3) == IGNORE).all()
    assert torch.equal(rule(full.clone(), segments, 3), full)


def test_a_value_beyond_the_classes_is_no_label(rule: Rule) -> None:
    labels = torch.full((1, 3, 3), 1, dtype=torch.uint8)
    labels[0, 1, 1] = 7
    assert (rule(labels, torch.zeros(1, 3, 3, dtype=torch.int64), 2) == 1).all()


def test_a_batch_without_images_is_left_alone(rule: Rule) -> None:
    assert rule(torch.zeros(0, 3, 3, dtype=torch.uint8), torch.zeros(0, 3, 3, dtype=torch.int64), 2).shape == (0, 3, 3)


def test_every_combination_of_eight_neighbours() -> None:
    votes = np.array(list(itertools.product([0, 2, IGNORE], repeat=8)), np.uint8)
    images = np.insert(votes, 4, IGNORE, axis=1).reshape(-1, 3, 3)
    segments = np.zeros_like(images, np.int32)
    expected = [next((k for k in (0, 2) if (row == k).sum() > 4), IGNORE) for row in votes]
    assert vote_synchronously(torch.from_numpy(images), torch.from_numpy(segments), 3)[:, 1, 1].tolist() == expected
    # In place, corners and edges (at most five neighbours) may have changed before the centre: only it is unlabelled.
    whole = (votes != IGNORE).all(1)
    assert vote_in_place(images[whole], segments[whole], 3)[:, 1, 1].tolist() == np.array(expected)[whole].tolist()


def test_five_votes_fill_and_four_do_not() -> None:
    labels = np.full((3, 3), IGNORE, np.uint8)
    labels.flat[[0, 1, 2, 3]] = 1
    segments = np.zeros((3, 3), np.int32)
    assert vote_in_place(labels.copy(), segments, 2)[1, 1] == IGNORE
    labels[1, 2] = 1
    assert vote_in_place(labels.copy(), segments, 2)[1, 1] == 1
    segments[0, 0] = 5
    assert vote_in_place(labels.copy(), segments, 2)[1, 1] == IGNORE


def test_in_place_labels_flow_down_where_synchronous_ones_wait() -> None:
    labels = np.zeros((5, 5), np.uint8)
    labels[1:4, 2] = IGNORE
    segments = np.zeros((5, 5), np.int32)
    labels[2, 1] = labels[2, 3] = IGNORE  # the centre has only four labelled neighbours until the scan has passed above
    waiting = vote_synchronously(as_batch(labels), as_batch(segments), 1)[0]
    assert waiting[2, 2] == IGNORE
    assert vote_in_place(labels, segments, 1)[2, 2] == 0


def test_other_integer_types_come_back_as_they_were() -> None:
    labels = torch.tensor([[[1, 1, 1], [1, IGNORE, 1], [1, 1, 1]]])
    segments = torch.zeros(1, 3, 3, dtype=torch.int64)
    for result in (vote_synchronously(labels, segments, 2), vote_superpixels(labels, segments, 2)):
        assert result.dtype == torch.int64 and (result == 1).all()


def test_the_kernel_of_the_gpu_is_whole() -> None:
    """It runs where a GPU is (test_cuda.py); here at least it is read, so that a slip shows on every machine."""
    pytest.importorskip("triton")
    from endotransfer.pseudo_labels.vote_kernel import vote_once

    assert callable(vote_once)
