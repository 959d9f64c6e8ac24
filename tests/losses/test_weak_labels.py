"""WeakSegDA's scores, labels, pooled features and critics' losses against their definitions, number by number."""

import math

import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.weak_labels import (
    attention_pooling,
    class_critic_loss,
    class_fooling_loss,
    smooth_max,
    weak_label_loss,
    weak_labels,
)
from tests.gradients import gradient


def random_maps(*shape: int, scale: float = 3.0) -> Tensor:
    return scale * torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def literal_smooth_max(places: list[float], k: float) -> float:
    return math.log(sum(math.exp(k * a) for a in places) / len(places)) / k


def literal_pooling(features: list[list[float]], logits: list[float]) -> list[float]:
    """Of one class in one image: features by channel and place, logits by place."""
    powers = [math.exp(a) for a in logits]
    weights = [power / sum(powers) for power in powers]
    return [sum(w * f for w, f in zip(weights, channel, strict=True)) for channel in features]


def literal_labels(scores: list[float], tag: int | None, threshold: float) -> list[bool]:
    """Of one image."""
    probabilities = [1 / (1 + math.exp(-score)) for score in scores]
    present = [p > threshold for p in probabilities]
    if tag is None:
        return present
    present[0] = True
    if tag == NORMAL:
        return [True] + [False] * (len(scores) - 1)
    if tag == LESION:
        present[max(range(1, len(scores)), key=lambda k: scores[k])] = True
    return present


def literal_scored_as(domain: int, scores: list[list[float]], present: list[list[bool]]) -> float:
    images = []
    for row, there in zip(scores, present, strict=True):
        chances = [1 / (1 + math.exp(-score)) for score in row]
        terms = [-math.log(p if domain else 1 - p) for p, is_there in zip(chances, there, strict=True) if is_there]
        if terms:
            images.append(sum(terms) / len(terms))
    return sum(images) / len(images) if images else 0.0


@pytest.mark.parametrize("k", [0.3, 1.0, 4.0])
def test_the_score_is_the_literal_one(k: float) -> None:
    logits = random_maps(2, 3, 3, 4)
    expected = [[literal_smooth_max(places, k) for places in image] for image in logits.flatten(2).tolist()]
    torch.testing.assert_close(smooth_max(logits, k), torch.tensor(expected, dtype=torch.float64))


def test_the_score_runs_from_the_mean_to_the_maximum() -> None:
    logits = random_maps(1, 1, 4, 4)
    assert smooth_max(logits, 1e-6).item() == pytest.approx(logits.mean().item(), abs=1e-4)
    assert smooth_max(logits, 1e3).item() == pytest.approx(logits.max().item(), abs=0.01)
    assert logits.mean() < smooth_max(logits) < logits.max()


def test_extreme_logits_have_a_finite_score_and_gradient() -> None:
    logits = torch.tensor([1e4, -1e4, 0.0, 3e4]).view(1, 2, 1, 2).requires_grad_()
    loss = weak_label_loss(smooth_max(logits), torch.tensor([[False, True]]))
    assert loss.item() == pytest.approx((1e4 - math.log(2)) / 2, rel=1e-6)  # only the first class is wrong
    assert gradient(loss, logits).isfinite().all()


@pytest.mark.parametrize("tagged", [True, False])
def test_weak_labels_are_the_literal_ones(tagged: bool) -> None:
    scores = random_maps(60, 4)
    tags = torch.tensor([NORMAL, LESION, UNKNOWN_TAG]).repeat(20) if tagged else None
    listed = [None] * 60 if tags is None else tags.tolist()
    expected = [literal_labels(row, tag, 0.2) for row, tag in zip(scores.tolist(), listed, strict=True)]
    assert weak_labels(scores, tags).tolist() == expected


def test_with_two_classes_a_known_tag_says_everything() -> None:
    unlikely, likely = torch.full((2, 2), -9.0), torch.full((2, 2), 9.0)
    tags = torch.tensor([NORMAL, LESION])
    for scores in (unlikely, likely):
        assert weak_labels(scores, tags).tolist() == [[True, False], [True, True]]


def test_the_loss_of_weak_labels_is_the_mean_over_images_and_classes() -> None:
    scores = random_maps(3, 2).requires_grad_()
    present = torch.tensor([[True, False], [True, True], [False, False]])
    expected = sum(
        math.log(1 + math.exp(-score if there else score))
        for score, there in zip(scores.flatten().tolist(), present.flatten().tolist(), strict=True)
    )
    assert weak_label_loss(scores, present).item() == pytest.approx(expected / 6)
    assert torch.autograd.gradcheck(lambda values: weak_label_loss(values, present), scores)


def test_pooled_features_are_the_literal_ones() -> None:
    features, logits = random_maps(2, 5, 2, 3), random_maps(2, 3, 2, 3).flip(0)
    pooled = attention_pooling(features, logits)
    assert pooled.shape == (2, 3, 5)
    for image in range(2):
        for k in range(3):
            expected = literal_pooling(features[image].flatten(1).tolist(), logits[image, k].flatten().tolist())
            assert pooled[image, k].tolist() == pytest.approx(expected)


def test_a_class_is_described_by_where_it_is_predicted_and_predictions_do_not_move() -> None:
    features = random_maps(1, 4, 2, 2).requires_grad_()
    logits = torch.zeros(1, 2, 2, 2, dtype=torch.float64)
    logits[0, 1, 0, 1] = 50.0
    logits.requires_grad_()
    pooled = attention_pooling(features, logits)
    torch.testing.assert_close(pooled[0, 0], features[0].mean((1, 2)))
    torch.testing.assert_close(pooled[0, 1], features[0, :, 0, 1])
    assert gradient(pooled.sum(), features).abs().min() > 0
    assert logits.grad is None


def test_critics_losses_are_the_literal_ones() -> None:
    source, target = random_maps(4, 3), random_maps(5, 3).neg()
    in_source = torch.tensor([[True, True, False], [False, False, False], [True, False, False], [True, True, True]])
    in_target = torch.tensor([[True, True, False]] * 4 + [[False, False, True]])
    of_source = literal_scored_as(0, source.tolist(), in_source.tolist())
    of_target = literal_scored_as(1, target.tolist(), in_target.tolist())
    found = class_critic_loss((source, in_source), (target, in_target))
    assert found.item() == pytest.approx((of_source + of_target) / 2)
    fooled = literal_scored_as(0, target.tolist(), in_target.tolist())
    assert class_fooling_loss(target, in_target).item() == pytest.approx(fooled)


def test_absent_classes_pull_at_nothing() -> None:
    scores = random_maps(2, 2).requires_grad_()
    present = torch.tensor([[True, False], [False, False]])
    slope = gradient(class_fooling_loss(scores, present), scores)
    assert slope[0, 0] != 0 and slope[0, 1] == 0 and (slope[1] == 0).all()
    nothing = torch.zeros(2, 2, dtype=torch.bool)
    assert class_critic_loss((scores, nothing), (scores, nothing)).item() == 0


def test_half_precision_is_averaged_in_float32() -> None:
    logits = torch.zeros(1, 2, 40, 40, dtype=torch.bfloat16)
    assert smooth_max(logits).dtype == torch.float32 and smooth_max(logits).abs().max() < 1e-5
    assert attention_pooling(torch.ones(1, 3, 40, 40, dtype=torch.bfloat16), logits).dtype == torch.float32
