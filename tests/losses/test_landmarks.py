"""Landmarks and their weights against slow twins over plain lists."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.landmarks import confident_landmarks, landmark_weights
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


def literal_landmarks(probabilities: Tensor, regions: Tensor, share: float) -> list[list[int]]:
    """For each image: every super-pixel's mean probabilities, sorted by their maximum, the first ones labelled."""
    maps = []
    for image, names in zip(probabilities.flatten(2), regions.flatten(1).tolist(), strict=True):
        means = {}
        for name in sorted(set(names)):
            members = [i for i, other in enumerate(names) if other == name]
            means[name] = [sum(row[i] for i in members) / len(members) for row in image.tolist()]
        ranked = sorted(means, key=lambda name: -round(max(means[name]), 12))
        chosen = ranked[: math.ceil(share * len(ranked) - 1e-9)]
        labels = {name: max(range(len(means[name])), key=lambda k: round(means[name][k], 12)) for name in chosen}
        maps.append([labels.get(name, IGNORE) for name in names])
    return maps


def literal_weights(labels: list[int], names: list[int], classes: int) -> list[float]:
    """One image: mean area / own area, times the mean count of present classes / the count of this one."""
    mean_area = len(names) / len(set(names))
    counts = [labels.count(k) for k in range(classes)]
    present = [count for count in counts if count]
    return [
        mean_area / names.count(name) * (sum(present) / len(present)) / counts[label] if label < classes else 0.0
        for label, name in zip(labels, names, strict=True)
    ]


@given(cases(), st.sampled_from([0.2, 0.5, 0.6, 1.0]))
@examples(150)
def test_landmarks_are_the_literal_ones_up_to_ties(case: Case, share: float) -> None:
    probabilities, regions, _ = case
    found = confident_landmarks(probabilities, regions, share)
    assert found.dtype == torch.uint8 and found.shape == regions.shape
    expected = literal_landmarks(probabilities, regions, share)
    for image, literal, names in zip(found.flatten(1).tolist(), expected, regions.flatten(1).tolist(), strict=True):
        by_name = dict(zip(names, image, strict=True))
        assert image == [by_name[name] for name in names]  # a super-pixel is labelled as one
        labelled = sum(label != IGNORE for label in by_name.values())
        assert labelled == len({name for name, label in zip(names, literal, strict=True) if label != IGNORE})


def test_the_surest_super_pixels_take_the_label_of_their_mean() -> None:
    regions = torch.tensor([[[0, 0, 1, 1, 7, 7]]])  # names may leave gaps
    lesion = torch.tensor([0.9, 0.1, 0.9, 0.7, 0.1, 0.3])  # means 0.5, 0.8, 0.2
    probabilities = torch.stack([1 - lesion, lesion])[None, :, None]
    assert confident_landmarks(probabilities, regions, 0.6).tolist() == [[[IGNORE, IGNORE, 1, 1, 0, 0]]]
    assert confident_landmarks(probabilities, regions, 0.3).tolist() == [[[IGNORE, IGNORE, 1, 1, IGNORE, IGNORE]]]


def test_landmarks_agree_with_the_twin_where_nothing_ties() -> None:
    generator = torch.Generator().manual_seed(4)
    probabilities = torch.randn(3, 4, 8, 8, generator=generator, dtype=torch.float64).softmax(1)
    regions = torch.randint(0, 9, (3, 8, 8), generator=generator)
    found = confident_landmarks(probabilities, regions, 0.6)
    assert found.flatten(1).tolist() == literal_landmarks(probabilities, regions, 0.6)


@pytest.mark.parametrize(("regions", "expected"), [(5, 3), (10, 6), (7, 5), (1, 1)])
def test_sixty_per_cent_are_rounded_up_and_not_by_a_last_digit(regions: int, expected: int) -> None:
    probabilities = torch.rand(1, 2, 1, regions).softmax(1)
    labels = confident_landmarks(probabilities, torch.arange(regions).view(1, 1, -1), 0.6)
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
