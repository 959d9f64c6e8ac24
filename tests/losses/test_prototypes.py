"""Prototypes, the contrast with them and the tag loss on them, against loops over single pixels."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.prototypes import (
    UNLIKELY,
    Prototypes,
    class_prototypes,
    prototype_contrast,
    prototype_tag_loss,
)
from tests.gradients import gradient
from tests.properties import examples

CLASSES, CHANNELS = 3, 4
SEEDS = st.integers(0, 10**6)
Vector = list[float]
many = examples(100)


def random_pixels(seed: int) -> tuple[Tensor, Tensor]:
    """Features [2, C, 2, 3] and labels in float64; often a class is absent, and some pixels have no label."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(2, CHANNELS, 2, 3, generator=generator, dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1, 2, IGNORE])[torch.randint(0, 6, (2, 2, 3), generator=generator)]
    labels[labels == torch.randint(0, 5, (), generator=generator)] = IGNORE
    return features, labels


def pixels_of(maps: Tensor) -> list[Vector]:
    return maps.movedim(1, -1).flatten(0, 2).tolist()


def dot(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def at_length_one(vector: Vector) -> Vector:
    return [value / math.sqrt(dot(vector, vector)) for value in vector]


def mean_of(vectors: list[Vector], weights: Vector) -> Vector:
    return [dot(list(channel), weights) / sum(weights) for channel in zip(*vectors, strict=True)]


def literal_prototype(features: Tensor, labels: Tensor, k: int) -> Vector | None:
    flat = labels.flatten().tolist()
    own = [at_length_one(pixel) for pixel, label in zip(pixels_of(features), flat, strict=True) if label == k]
    if not own:
        return None
    centre = mean_of(own, [1.0] * len(own))
    return mean_of(own, [max(0.0, dot(pixel, centre)) for pixel in own])


@given(SEEDS)
@many
def test_a_prototype_is_the_mean_weighted_by_likeness_to_the_class(seed: int) -> None:
    features, labels = random_pixels(seed)
    found, present = class_prototypes(features, labels, CLASSES)
    for k in range(CLASSES):
        expected = literal_prototype(features, labels, k)
        assert present[k].item() == (expected is not None)
        assert found[k].tolist() == pytest.approx(expected or [0.0] * CHANNELS, abs=1e-9)


def test_a_stray_pixel_counts_less_than_in_a_plain_mean() -> None:
    features = torch.tensor([[1.0, 0.0]] * 9 + [[0.2, 1.0]]).T.reshape(1, 2, 1, 10)
    (weighted,), _ = class_prototypes(features, torch.zeros(1, 1, 10, dtype=torch.long), 1)
    plain = torch.nn.functional.normalize(features, dim=1).mean((0, 2, 3))
    assert 0 < weighted[1] < 0.5 * plain[1]


@given(st.lists(SEEDS, min_size=1, max_size=4), st.floats(0, 0.99))
@many
def test_prototypes_move_from_the_first_one_on_and_absent_classes_stay(seeds: list[int], momentum: float) -> None:
    prototypes = Prototypes(CLASSES, CHANNELS, momentum).double()
    expected: list[Vector | None] = [None] * CLASSES
    for seed in seeds:
        features, labels = random_pixels(seed)
        prototypes.update(features, labels)
        for k in range(CLASSES):
            newest, before = literal_prototype(features, labels, k), expected[k]
            if newest is not None and before is not None:
                newest = [momentum * a + (1 - momentum) * b for a, b in zip(before, newest, strict=True)]
            expected[k] = before if newest is None else newest
    assert prototypes.seen.tolist() == [vector is not None for vector in expected]
    for k, vector in enumerate(expected):
        assert prototypes.vectors[k].tolist() == pytest.approx(vector or [0.0] * CHANNELS, abs=1e-9)
    assert set(prototypes.state_dict()) == {"vectors", "seen"}


def test_similarities_are_cosines_and_a_class_never_seen_is_unlikely() -> None:
    features, labels = random_pixels(0)
    prototypes = Prototypes(CLASSES, CHANNELS, 0.9).double()
    labels[labels == 2] = 1
    prototypes.update(features, labels)
    found = pixels_of(prototypes.similarities(3 * features, temperature=0.1))
    for pixel, similarities in zip(pixels_of(features), found, strict=True):
        for k in (0, 1):
            prototype = at_length_one(prototypes.vectors[k].tolist())
            assert similarities[k] == pytest.approx(dot(at_length_one(pixel), prototype) / 0.1)
        assert similarities[2] == UNLIKELY


def literal_contrast(similarities: Tensor, labels: Tensor, seen: list[bool]) -> float:
    by_class: dict[int, list[float]] = {}
    for pixel, label in zip(pixels_of(similarities), labels.flatten().tolist(), strict=True):
        if label != IGNORE and seen[label]:
            whole = sum(math.exp(value) for value in pixel)
            by_class.setdefault(label, []).append(-math.log(math.exp(pixel[label]) / whole))
    means = [sum(terms) / len(terms) for terms in by_class.values()]
    return sum(means) / len(means) if means else 0.0


@given(SEEDS, st.lists(st.booleans(), min_size=CLASSES, max_size=CLASSES))
@many
def test_the_contrast_is_infonce_with_one_say_for_each_class(seed: int, seen: list[bool]) -> None:
    features, labels = random_pixels(seed)
    similarities = 5 * features[:, :CLASSES]
    loss = prototype_contrast(similarities, labels, torch.tensor(seen))
    assert loss.item() == pytest.approx(literal_contrast(similarities, labels, seen))


def test_the_contrast_turns_pixels_to_their_prototype_and_leaves_prototypes_alone() -> None:
    features, labels = random_pixels(1)
    prototypes = Prototypes(CLASSES, CHANNELS, 0.0).double()
    prototypes.update(features, labels)
    features.requires_grad_()
    before = prototype_contrast(prototypes.similarities(features, 0.1), labels, prototypes.seen)
    moved = features.detach() - 0.1 * gradient(before, features)
    assert prototype_contrast(prototypes.similarities(moved, 0.1), labels, prototypes.seen) < before
    assert not prototypes.vectors.requires_grad
    unlabelled = (labels == IGNORE).unsqueeze(1).expand_as(features)
    assert unlabelled.any() and features.grad is not None and (features.grad[unlabelled] == 0).all()


def literal_tag_loss(similarities: Tensor, tags: list[int]) -> float:
    terms = []
    for image, tag in zip(similarities, tags, strict=True):
        if tag == UNKNOWN_TAG:
            continue
        odds = [
            math.log(sum(math.exp(value) for value in lesions)) - normal
            for normal, *lesions in image.movedim(0, -1).flatten(0, 1).tolist()
        ]
        of_normal, of_lesion = (1 / (1 + math.exp(-value)) for value in (max(-z for z in odds), max(odds)))
        terms.append(-(math.log(of_normal) + math.log(of_lesion if tag == LESION else 1 - of_lesion)) / 2)
    return sum(terms) / len(terms) if terms else 0.0


@given(SEEDS, st.lists(st.sampled_from([NORMAL, LESION, UNKNOWN_TAG]), min_size=2, max_size=2), st.integers(2, 3))
@many
def test_the_tag_loss_is_about_the_nearest_pixel_of_each_kind(seed: int, tags: list[int], classes: int) -> None:
    similarities = 4 * random_pixels(seed)[0][:, :classes]
    loss = prototype_tag_loss(similarities, torch.tensor(tags), torch.ones(classes, dtype=torch.bool))
    assert loss.item() == pytest.approx(literal_tag_loss(similarities, tags))


@pytest.mark.parametrize("seen", [[True, False, False], [False, True, True]])
def test_tags_say_nothing_as_long_as_one_side_has_no_prototype(seen: list[bool]) -> None:
    similarities = random_pixels(0)[0][:, :CLASSES].requires_grad_()
    loss = prototype_tag_loss(similarities, torch.tensor([LESION, NORMAL]), torch.tensor(seen))
    assert loss.item() == 0 and (gradient(loss, similarities) == 0).all()


def test_half_precision_is_compared_in_float32() -> None:
    features, labels = random_pixels(2)
    labels[labels == IGNORE] = 0
    prototypes = Prototypes(CLASSES, CHANNELS, 0.5)
    with torch.autocast("cpu", torch.bfloat16):
        prototypes.update(features.bfloat16(), labels)
        similarities = prototypes.similarities(features.bfloat16(), 0.1)
    assert similarities.dtype == prototypes.vectors.dtype == torch.float32
    expected = literal_prototype(features.bfloat16().double(), labels, 0)
    assert prototypes.vectors[0].tolist() == pytest.approx(expected, abs=1e-5)
