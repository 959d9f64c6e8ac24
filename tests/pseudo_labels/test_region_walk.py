"""Scores that follow regions: the walk against literal loops, and what it may and may not change."""

import math

import torch
from torch import Tensor

from endotransfer.pseudo_labels.region_walk import SHARPNESS, STEPS, along_regions, reordered, walked

HEIGHT, WIDTH, CHANNELS = 4, 5, 3


def literal_walk(scores: list[float], features: list[list[float]]) -> list[float]:
    """One place after another: features[i] belongs to place i."""
    places, channels = range(len(scores)), range(len(features[0]))
    means = [sum(features[i][c] for i in places) / len(scores) for c in channels]
    moved = [[features[i][c] - means[c] for c in channels] for i in places]
    lengths = [math.sqrt(sum(value**2 for value in place)) for place in moved]
    for _ in range(STEPS):
        following = []
        for i in places:
            odds = [
                math.exp(
                    SHARPNESS * sum(a * b for a, b in zip(moved[i], moved[j], strict=True)) / lengths[i] / lengths[j]
                )
                for j in places
            ]
            following.append(sum(odds[j] * scores[j] for j in places) / sum(odds))
        scores = following
    return scores


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_the_walk_is_the_literal_one() -> None:
    scores, features = drawn(0, HEIGHT * WIDTH), drawn(1, CHANNELS, HEIGHT * WIDTH)
    literal = torch.tensor(literal_walk(scores.tolist(), features.T.tolist()))
    torch.testing.assert_close(walked(scores, features), literal, rtol=1e-4, atol=1e-5)


def test_every_image_keeps_its_values_and_takes_the_order_of_its_own_walk() -> None:
    scores, features = drawn(2, 3, HEIGHT, WIDTH), drawn(3, 3, CHANNELS, HEIGHT, WIDTH)
    found = along_regions(scores, features)
    for image, before, seen in zip(found, scores, features, strict=True):
        assert image.flatten().sort().values.tolist() == before.flatten().sort().values.tolist()
        assert image.flatten().argsort().tolist() == walked(before.flatten(), seen.flatten(1)).argsort().tolist()
    assert (found != scores).any()


def test_a_patchy_region_is_ranked_as_one_piece() -> None:
    """Two halves that look different; noise on the scores is larger than what parts them."""
    inside = (torch.arange(400) % 20 < 10).view(1, 20, 20)
    scores = 0.8 * inside + drawn(4, 1, 20, 20)
    features = drawn(5, 1, CHANNELS, 20, 20) * 0.3 + torch.where(inside, 1.0, -1.0).unsqueeze(1)

    def right(ranked: Tensor) -> float:
        """The share of the upper half of the scores that lies inside."""
        return float(inside.flatten()[ranked.flatten().argsort(descending=True)[:200]].float().mean())

    assert right(scores) < 0.7
    assert right(along_regions(scores, features)) > 0.98


def test_an_image_of_places_that_all_look_alike_keeps_its_scores() -> None:
    """The walk has no order of its own then; what the place prior says must not be lost."""
    scores = drawn(8, 1, HEIGHT, WIDTH)
    assert along_regions(scores, torch.ones(1, CHANNELS, HEIGHT, WIDTH)).equal(scores)


def test_the_smallest_value_goes_where_the_order_is_smallest() -> None:
    assert reordered(torch.tensor([5.0, 1.0, 3.0]), torch.tensor([0.2, 0.1, 0.9])).tolist() == [3.0, 1.0, 5.0]
    assert reordered(torch.tensor([5.0, 1.0, 3.0]), torch.tensor([0.2, 0.2, 0.1])).tolist() == [5.0, 3.0, 1.0]


def test_half_precision_is_walked_in_single() -> None:
    scores, features = drawn(6, 1, HEIGHT, WIDTH).half(), drawn(7, 1, CHANNELS, HEIGHT, WIDTH).half()
    with torch.autocast("cpu", torch.bfloat16):
        assert along_regions(scores, features).equal(along_regions(scores.float(), features.float()))
