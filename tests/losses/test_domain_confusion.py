"""Domain confusion against loops over single cells."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from endotransfer.batch import IGNORE
from endotransfer.losses.domain_confusion import (
    cell_shares,
    confusion_loss,
    domain_loss,
    flipped_loss,
    ramp,
    scores_of,
)
from tests.gradients import gradient
from tests.properties import examples

Pair = tuple[Tensor, Tensor]

SEEDS = st.integers(0, 10**6)
SIZES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
many = examples(100)


def random_scores(seed: int, size: tuple[int, int, int]) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    batch, height, width = size
    source = 3 * torch.randn(batch, 2, height, width, generator=generator, dtype=torch.float64)
    return source, 3 * torch.randn(batch + 1, 2, height, width, generator=generator, dtype=torch.float64)


def random_weights(seed: int, scores: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    source, target = (torch.rand(len(s), *s.shape[2:], generator=generator, dtype=torch.float64) for s in scores)
    source[0] = 0  # the class is not in the first image
    return source, target


def cross_entropy_of(pair: list[float], label: int) -> float:
    return math.log(sum(math.exp(x) for x in pair)) - pair[label]


def literal(scores: Pair, labels: tuple[int, int], weights: Pair | None = None) -> float:
    """The mean over domains of (weighted) means over cells."""
    by_domain = []
    for domain in range(2):
        by_image = []
        for index, image in enumerate(scores[domain].permute(0, 2, 3, 1).tolist()):
            cells = [cross_entropy_of(pair, labels[domain]) for row in image for pair in row]
            if weights is None:
                by_image.append(sum(cells) / len(cells))
                continue
            shares = weights[domain][index].flatten().tolist()
            by_image.append(sum(w * c for w, c in zip(shares, cells, strict=True)) / (sum(shares) + 5e-6))
        by_domain.append(sum(by_image) / len(by_image))
    return sum(by_domain) / 2


@given(SEEDS, SIZES, st.booleans())
@many
def test_losses_are_cross_entropies_with_true_exchanged_and_both_domains(
    seed: int, size: tuple[int, int, int], weighted: bool
) -> None:
    scores = random_scores(seed, size)
    weights = random_weights(seed, scores) if weighted else None
    true, exchanged = literal(scores, (0, 1), weights), literal(scores, (1, 0), weights)
    assert domain_loss(scores, weights).item() == pytest.approx(true, rel=1e-9)
    assert flipped_loss(scores, weights).item() == pytest.approx(exchanged, rel=1e-9)
    assert confusion_loss(scores, weights).item() == pytest.approx((true + exchanged) / 2, rel=1e-9)


def test_confusion_is_least_where_the_critic_cannot_decide() -> None:
    undecided = torch.zeros(1, 2, 2, 2)
    least = confusion_loss((undecided, undecided)).item()
    assert least == pytest.approx(math.log(2))
    sure = undecided + torch.tensor([2.0, -2.0])[:, None, None]
    assert confusion_loss((sure, undecided)).item() > least < confusion_loss((undecided, -sure)).item()


def test_a_class_that_is_nowhere_costs_nothing_and_pulls_at_nothing() -> None:
    source, target = (torch.randn(2, 2, 3, 3, requires_grad=True) for _ in range(2))
    nowhere = torch.zeros(2, 3, 3)
    loss = domain_loss((source, target), (nowhere, nowhere))
    assert loss.item() == 0
    assert all(gradient(loss, part, retain_graph=True).abs().max() == 0 for part in (source, target))


def test_half_precision_scores_are_averaged_in_float32() -> None:
    zeros = torch.zeros(1, 2, 20, 20, dtype=torch.bfloat16)
    assert domain_loss((zeros, zeros)).item() == pytest.approx(math.log(2), rel=1e-6)


def test_scores_of_both_domains_come_from_one_forward() -> None:
    forwards = []

    class Critic(nn.Module):
        def forward(self, features: Tensor) -> Tensor:
            forwards.append(len(features))
            return 2 * features

    source, target = torch.randn(2, 4, 3, 3), torch.randn(3, 4, 3, 3)
    on_source, on_target = scores_of(Critic(), (source, target))
    assert forwards == [5]
    assert torch.equal(on_source, 2 * source) and torch.equal(on_target, 2 * target)


@given(SEEDS, st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 2, 8]))
@many
def test_cell_shares_count_the_pixels_of_each_class(seed: int, height: int, width: int, side: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    masks = torch.randint(0, 4, (2, side * height, side * width), generator=generator)
    masks[masks == 3] = IGNORE
    shares = cell_shares(masks, torch.zeros(2, 3, height, width))
    for b in range(2):
        for k in range(3):
            for i in range(height):
                for j in range(width):
                    cell = masks[b, side * i : side * (i + 1), side * j : side * (j + 1)].flatten().tolist()
                    assert shares[b, k, i, j].item() == pytest.approx(cell.count(k) / side**2)


def test_cell_shares_of_odd_sizes_and_half_precision() -> None:
    shares = cell_shares(torch.zeros(1, 33, 47, dtype=torch.int64), torch.zeros(1, 2, 5, 6, dtype=torch.bfloat16))
    assert shares.dtype == torch.float32 and shares.shape == (1, 2, 5, 6)
    assert shares[:, 0].flatten().tolist() == pytest.approx([1.0] * 30) and shares[:, 1].max() == 0


def test_the_ramp_rises_from_0_to_nearly_1() -> None:
    assert ramp(0, 1200) == 0
    assert ramp(120, 1200) == pytest.approx(2 / (1 + math.exp(-1)) - 1)
    values = [ramp(step, 1200) for step in range(0, 2400, 100)]
    assert values == sorted(values) and 0.9999 < ramp(1200, 1200) < 1 and values[-1] <= 1
