"""Landmarks and their weights against slow twins over plain lists."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.landmarks import confident_landmarks, landmark_weights, region_labels, region_means
from tests.properties import examples

Case = tuple[Tensor, Tensor, Tensor]  # probabilities [B, K, H, W], super-pixels [B, H, W], labels [B, H, W]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    images, classes, height, width = (draw(st.integers(*limits)) for limits in ((1, 3), (2, 4), (1, 4), (1, 5)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    # Few distinct values, so that super-pixels tie.
    logits = torch.randint(-2, 3, (images, classes, height, width), generator=generator).double()
    regions = torch.randint(0, draw(st.integers(1, 6)), (images, height, width), generator=generator) * draw(
        st.integers(1, 2)
    )
    labels = torch.randint(0, classes + 1, (images, height, width), generator=generator)
    return logits.softmax(1), regions.clamp(max=height * width), labels.where(labels < classes, IGNORE)


def literal_means(features: Tensor, regions: Tensor) -> list[dict[int, list[float]]]:
    """For each image: every super-pixel's mean of what each of its pixels finds in the cell that it lies in."""
    means = []
    for image, names in zip(features.tolist(), regions.tolist(), strict=True):
        (height, width), (rows, columns) = (len(names), len(names[0])), (len(image[0]), len(image[0][0]))
        found: dict[int, list[list[float]]] = {}
        for y, x in itertools.product(range(height), range(width)):
            cell = math.floor(y * rows / height), math.floor(x * columns / width)
            found.setdefault(names[y][x], []).append([channel[cell[0]][cell[1]] for channel in image])
        means.append(
            {
                name: [sum(column) / len(pixels) for column in zip(*pixels, strict=True)]
                for name, pixels in found.items()
            }
        )
    return means


def literal_landmarks(scores: list[list[float]], names: list[int], share: float) -> list[int]:
    """One image: its super-pixels sorted by their largest score, the first ones labelled."""
    ranked = sorted(sorted(set(names)), key=lambda name: -max(scores[name]))
    chosen = ranked[: math.ceil(share * len(ranked) - 1e-9)]
    labels = {name: scores[name].index(max(scores[name])) for name in chosen}
    return [labels.get(name, IGNORE) for name in names]


def literal_weights(labels: list[int], names: list[int], classes: int) -> list[float]:
    """One image: mean area / own area, times the mean count of present classes / the count of this one."""
    mean_area = len(names) / len(set(names))
    counts = [labels.count(k) for k in range(classes)]
    present = [count for count in counts if count]
    return [
        mean_area / names.count(name) * (sum(present) / len(present)) / counts[label] if label < classes else 0.0
        for label, name in zip(labels, names, strict=True)
    ]


@given(cases())
@examples(100)
def test_means_over_super_pixels_are_the_literal_ones(case: Case) -> None:
    features, regions, _ = case
    larger = regions.repeat_interleave(3, 1).repeat_interleave(2, 2)  # features are coarser than the image
    means, areas = region_means(features, larger)
    for image, expected in enumerate(literal_means(features, larger)):
        for name, values in expected.items():
            assert means[image, name].tolist() == pytest.approx(values)
            assert areas[image, name] == (larger[image] == name).sum()
        assert (areas[image] > 0).sum() == len(expected)


def test_cells_that_do_not_divide_the_image_are_shared_by_the_pixels_in_them() -> None:
    features = torch.rand(1, 2, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    regions = torch.arange(5 * 7).view(1, 5, 7) % 4
    means, _ = region_means(features, regions)
    (expected,) = literal_means(features, regions)
    assert means[0].tolist() == [pytest.approx(expected[name]) for name in range(4)]


@given(cases())
@examples(100)
def test_a_super_pixel_has_the_commonest_class_of_its_labelled_pixels(case: Case) -> None:
    probabilities, regions, masks = case
    classes = probabilities.shape[1]
    found = region_labels(masks, regions, classes)
    for image, names, labels in zip(masks.flatten(1), regions.flatten(1), found, strict=True):
        for name in range(len(labels)):
            members = [label for label in image[names == name].tolist() if label != IGNORE]
            counts = [members.count(k) for k in range(classes)]
            assert labels[name] == (counts.index(max(counts)) if members else IGNORE)


@given(cases(), st.sampled_from([0.2, 0.5, 0.6, 1.0]))
@examples(150)
def test_landmarks_are_the_literal_ones(case: Case, share: float) -> None:
    probabilities, regions, _ = case
    scores, areas = region_means(probabilities, regions)
    found = confident_landmarks(scores, areas, regions, share)
    assert found.dtype == torch.uint8 and found.shape == regions.shape
    for image, names, own in zip(found.flatten(1), regions.flatten(1), scores, strict=True):
        assert image.tolist() == literal_landmarks(own.tolist(), names.tolist(), share)


def test_the_surest_super_pixels_take_the_label_of_their_mean() -> None:
    regions = torch.tensor([[[0, 0, 1, 1, 7, 7]]])  # names may leave gaps
    lesion = torch.tensor([0.9, 0.1, 0.9, 0.7, 0.1, 0.3])  # means 0.5, 0.8, 0.2
    scores, areas = region_means(torch.stack([1 - lesion, lesion])[None, :, None], regions)
    assert confident_landmarks(scores, areas, regions, 0.6).tolist() == [[[IGNORE, IGNORE, 1, 1, 0, 0]]]
    assert confident_landmarks(scores, areas, regions, 0.3).tolist() == [[[IGNORE, IGNORE, 1, 1, IGNORE, IGNORE]]]


@pytest.mark.parametrize(("regions", "expected"), [(5, 3), (10, 6), (7, 5), (1, 1)])
def test_sixty_per_cent_are_rounded_up_and_not_by_a_last_digit(regions: int, expected: int) -> None:
    scores, areas = torch.rand(1, regions, 2), torch.ones(1, regions)
    labels = confident_landmarks(scores, areas, torch.arange(regions).view(1, 1, -1), 0.6)
    assert (labels != IGNORE).sum() == expected


@given(cases())
@examples(150)
def test_weights_are_the_literal_ones(case: Case) -> None:
    probabilities, regions, labels = case
    classes = probabilities.shape[1]
    found = landmark_weights(labels, regions, classes)
    for image, names, weights in zip(labels, regions, found, strict=True):
        expected = literal_weights(image.flatten().tolist(), names.flatten().tolist(), classes)
        assert weights.flatten().tolist() == pytest.approx(expected, rel=1e-5)


def test_a_small_landmark_counts_as_much_as_a_large_one_and_a_rare_class_as_a_common_one() -> None:
    regions = torch.tensor([[[0] * 6 + [1] * 2]])
    same = torch.zeros(1, 1, 8, dtype=torch.uint8)
    weights = landmark_weights(same, regions, 2)[0, 0]
    assert weights[:6].sum().item() == pytest.approx(weights[6:].sum().item())
    one_region = torch.zeros_like(regions)
    mixed = (regions == 1).to(torch.uint8)
    weights = landmark_weights(mixed, one_region, 2)[0, 0]
    assert weights[:6].sum().item() == pytest.approx(weights[6:].sum().item())


def test_an_image_without_landmarks_costs_nothing() -> None:
    nothing = torch.full((1, 2, 2), IGNORE)
    weights = landmark_weights(nothing, torch.zeros_like(nothing), 2)
    assert (weights == 0).all()
    assert segmentation(torch.randn(1, 2, 2, 2), nothing, weights=weights).item() == 0
