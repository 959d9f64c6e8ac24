"""The transferability of cells and what it weighs, against loops over single cells."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.losses.adversarial import fooling_loss
from endotransfer.losses.transfer_gate import gate_weights, gated_fooling, transferability, weights_at
from tests.gradients import gradient
from tests.properties import examples

SEEDS = st.integers(0, 10**6)
many = examples(100)


def random_scores(seed: int) -> Tensor:
    return 4 * torch.randn(2, 1, 2, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def literal_weight(score: float, gate: float) -> float:
    target = 1 / (1 + math.exp(-score))
    entropy = -sum(p * math.log2(p) for p in (target, 1 - target) if p > 0)
    return 1 - gate * (1 - entropy)


@given(SEEDS, st.floats(0, 1))
@many
def test_weights_and_the_fooling_that_they_gate_equal_the_literal_ones(seed: int, gate: float) -> None:
    scores = random_scores(seed)
    cells = scores.flatten().tolist()
    expected = [literal_weight(score, gate) for score in cells]
    weights = gate_weights(scores, gate)
    assert weights.shape == (2, 2, 3)
    assert weights.flatten().tolist() == pytest.approx(expected, abs=1e-9)
    fooled = [w * math.log(1 + math.exp(score)) for w, score in zip(expected, cells, strict=True)]
    assert gated_fooling(scores, weights).item() == pytest.approx(sum(fooled) / len(fooled))


def test_the_less_a_critic_can_decide_the_more_a_cell_transfers() -> None:
    scores = torch.tensor([-1e4, -3.0, 0.0, 3.0, 1e4]).view(1, 1, 1, 5)
    found = transferability(scores).flatten().tolist()
    assert found[0] == found[4] == 0 and found[2] == pytest.approx(1)
    assert found[1] == pytest.approx(found[3]) and 0.2 < found[1] < 0.5
    assert gate_weights(scores, 0.5).flatten().tolist() == pytest.approx([(1 + t) / 2 for t in found])


def test_without_a_gate_it_is_plain_fooling() -> None:
    scores = random_scores(0)
    assert (gate_weights(scores, 0.0) == 1).all()
    torch.testing.assert_close(gated_fooling(scores, gate_weights(scores, 0.0)), fooling_loss(scores))


def test_the_critic_is_fooled_where_features_transfer_and_weights_carry_no_gradient() -> None:
    scores = torch.tensor([0.0, 6.0]).view(1, 1, 1, 2).requires_grad_()
    weights = gate_weights(scores, 1.0)
    assert not weights.requires_grad
    undecided, plain = gradient(gated_fooling(scores, weights), scores).flatten().tolist()
    assert undecided == pytest.approx(0.25) and 0 < plain < 0.02


def test_weights_of_cells_are_spread_over_pixels() -> None:
    weights = torch.tensor([[[0.0, 1.0]]])
    pixels = weights_at(weights, (4, 8))
    assert pixels.shape == (1, 4, 8)
    assert (pixels[..., 0] == 0).all() and (pixels[..., -1] == 1).all() and pixels.diff(dim=-1).min() >= 0


def test_half_precision_scores_are_weighed_in_float32() -> None:
    scores = random_scores(3).bfloat16()
    weights = gate_weights(scores, 0.5)
    assert weights.dtype == gated_fooling(scores, weights).dtype == torch.float32
