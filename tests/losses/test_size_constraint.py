"""Size constraints: statistics by counting, the latent distribution against a general optimiser on the same dual."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.size_constraint import (
    class_fractions,
    latent_distribution,
    latent_loss,
    present_classes,
    scale_gradient,
    size_bounds,
    size_penalty,
    size_statistics,
)
from tests.gradients import gradient
from tests.properties import examples

SEEDS = st.integers(0, 10**6)
many = examples(60)


def random_case(seed: int, classes: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of two images, which classes they hold, and bounds that can be kept."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(2, classes, 3, 4, generator=generator, dtype=torch.float64)
    present = torch.rand(2, classes, generator=generator) < 0.8
    present[:, 0] = True
    delta = 0.6 * torch.rand(classes, generator=generator, dtype=torch.float64)
    gamma = delta + 0.4 * torch.rand(classes, generator=generator, dtype=torch.float64)
    return logits, present, *size_bounds(present, delta, gamma)


# -- what the source's masks say ------------------------------------------------------------------------------------


@given(SEEDS)
@many
def test_fractions_are_counts_over_labelled_pixels(seed: int) -> None:
    masks = torch.randint(0, 4, (3, 4, 5), generator=torch.Generator().manual_seed(seed))
    masks[masks == 3] = IGNORE
    for image, row in zip(masks.flatten(1).tolist(), class_fractions(masks, 3).tolist(), strict=True):
        labelled = [label for label in image if label != IGNORE]
        assert row == pytest.approx([labelled.count(k) / len(labelled) for k in range(3)])


def test_statistics_are_those_of_the_images_that_contain_the_class() -> None:
    found = torch.linspace(0.1, 0.3, 21, dtype=torch.float64)
    nowhere = torch.zeros(21, dtype=torch.float64)
    fractions = torch.cat([torch.stack([found, nowhere], 1), torch.zeros(30, 2), torch.full((1, 2), torch.nan)])
    alpha, delta, gamma = size_statistics(fractions)
    assert (alpha[0].item(), delta[0].item(), gamma[0].item()) == pytest.approx((0.12, 0.2, 0.28))
    assert (alpha[1].item(), delta[1].item(), gamma[1].item()) == (0, 0, 1)


def test_a_mean_above_the_high_quantile_moves_the_upper_bound() -> None:
    fractions = torch.tensor([[0.01]] * 19 + [[0.9]])
    _, delta, gamma = size_statistics(fractions)
    assert gamma.item() == delta.item() > 0.05


# -- what a target image holds --------------------------------------------------------------------------------------


def predicting(*counts: int) -> Tensor:
    """Logits [1, K, 1, sum] of an image in which class k is predicted on counts[k] pixels."""
    labels = torch.tensor([k for k, count in enumerate(counts) for _ in range(count)])
    return 5 * torch.nn.functional.one_hot(labels, len(counts)).T[None, :, None].float()


def test_without_tags_a_class_is_there_if_predicted_on_more_than_a_tenth_of_alpha() -> None:
    alpha = torch.tensor([0.5, 0.5, 0.5, 0.0])
    assert present_classes(predicting(94, 6, 0, 0), alpha, None).tolist() == [[True, True, False, False]]
    assert present_classes(predicting(95, 5, 0, 0), alpha, None).tolist() == [[True, False, False, False]]
    assert present_classes(predicting(99, 0, 0, 1), alpha, None).tolist() == [[True, False, False, True]]


def test_where_nothing_is_predicted_strongly_enough_everything_may_be_there() -> None:
    assert present_classes(predicting(1, 1), torch.tensor([6.0, 6.0]), None).all()


@pytest.mark.parametrize(
    ("counts", "tag", "expected"),
    [
        ((5, 5), NORMAL, [True, False]),
        ((10, 0), LESION, [True, True]),
        ((0, 10), LESION, [True, True]),
        ((10, 0), UNKNOWN_TAG, [True, False]),
        ((5, 0, 5), NORMAL, [True, False, False]),
        ((5, 0, 5), LESION, [True, False, True]),
        ((0, 10), UNKNOWN_TAG, [False, True]),
    ],
)
def test_a_tag_knows_better_than_the_prediction(counts: tuple[int, ...], tag: int, expected: list[bool]) -> None:
    alpha = torch.full((len(counts),), 0.1)
    assert present_classes(predicting(*counts), alpha, torch.tensor([tag])).tolist() == [expected]


def test_of_several_lesions_none_of_which_is_predicted_the_likeliest_is_there() -> None:
    logits = predicting(10, 0, 0)
    logits[:, 2] += 1
    assert present_classes(logits, torch.full((3,), 0.1), torch.tensor([LESION])).tolist() == [[True, False, True]]


@given(SEEDS, st.integers(2, 5))
@many
def test_bounds_can_always_be_kept_and_absent_classes_take_nothing(seed: int, classes: int) -> None:
    _, present, lower, upper = random_case(seed, classes)
    assert (lower.sum(1) <= 1 + 1e-9).all() and (upper.sum(1) >= 1 - 1e-9).all() and (lower <= upper + 1e-9).all()
    assert lower[~present].sum() == upper[~present].sum() == 0


def test_bounds_that_can_be_kept_stay_as_they_are_and_the_only_class_takes_all() -> None:
    delta, gamma = torch.tensor([0.5, 0.1]), torch.tensor([0.95, 0.3])
    lower, upper = size_bounds(torch.tensor([[True, True], [True, False]]), delta, gamma)
    assert lower.flatten().tolist() == pytest.approx([0.5, 0.1, 0.5, 0])
    assert upper.flatten().tolist() == pytest.approx([0.95, 0.3, 1, 0])


# -- what it costs to break the bounds ------------------------------------------------------------------------------


@given(SEEDS, st.integers(2, 4))
@many
def test_penalty_is_the_squared_excess_and_the_mean_of_absent_classes(seed: int, classes: int) -> None:
    logits, present, lower, upper = random_case(seed, classes)
    expected = 0.0
    for b in range(2):
        for k in range(classes):
            mean = logits[b].softmax(0)[k].mean().item()
            low, high = lower[b, k].item(), upper[b, k].item()
            expected += max(0, low - mean) ** 2 + max(0, mean - high) ** 2 if present[b, k] else mean
    assert size_penalty(logits, present, lower, upper).item() == pytest.approx(expected / 2, rel=1e-9, abs=1e-12)


def literal_latent(
    log_p: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], slack: float
) -> NDArray[np.float64]:
    """q* of one image, log_p [K, N] of the present classes: a multiplier for each bound, by a general optimiser."""
    classes = len(log_p)

    def negative_dual(multipliers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        below, above = multipliers[:classes], multipliers[classes:]
        tilted = np.exp(log_p + (below - above)[:, None])
        mean = (tilted / tilted.sum(0)).mean(1)
        value = below @ low - above @ high - np.log(tilted.sum(0)).mean()
        return -value, -np.concatenate([low - mean, mean - high])

    found = minimize(
        negative_dual, np.zeros(2 * classes), jac=True, method="SLSQP",
        bounds=[(0, slack)] * classes + [(0, 50)] * classes, options={"ftol": 1e-14, "maxiter": 2000},
    ).x  # fmt: skip
    tilted = np.exp(log_p + (found[:classes] - found[classes:])[:, None])
    latent: NDArray[np.float64] = tilted / tilted.sum(0)
    return latent


@given(SEEDS, st.integers(2, 4), st.sampled_from([0.0, 0.5, 2.0]))
@settings(max_examples=30, deadline=None)
def test_latent_distribution_is_the_solution_of_the_dual(seed: int, classes: int, slack: float) -> None:
    logits, present, lower, upper = random_case(seed, classes)
    q = latent_distribution(logits, present, lower, upper, slack, iterations=800).exp()
    for b in range(2):
        there = present[b]
        log_p = logits[b][there].flatten(1).log_softmax(0).numpy()
        expected = literal_latent(log_p, lower[b][there].numpy(), upper[b][there].numpy(), slack)
        np.testing.assert_allclose(q[b][there].flatten(1).numpy(), expected, atol=2e-3)
        assert q[b][~there].sum() == 0


@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_fifty_steps_are_near_enough(scale: float) -> None:
    torch.manual_seed(0)
    logits = scale * (torch.randn(64, 2, 8, 8) + torch.randn(64, 2, 1, 1))
    present = torch.ones(64, 2, dtype=torch.bool)
    lower, upper = torch.tensor([[0.0, 0.1]]).expand(64, 2), torch.tensor([[1.0, 0.25]]).expand(64, 2)
    mean = latent_distribution(logits, present, lower, upper, slack=100).exp().mean((2, 3))
    assert (mean >= lower - 5e-3).all() and (mean <= upper + 5e-3).all()


def test_the_slack_caps_how_far_a_lower_bound_pulls_and_not_an_upper_one() -> None:
    logits = torch.zeros(1, 2, 4, 4)
    logits[:, 1] = -10
    present = torch.ones(1, 2, dtype=torch.bool)
    ask = torch.tensor([[0.0, 0.5]]), torch.tensor([[1.0, 1.0]])
    assert latent_distribution(logits, present, *ask)[0, 1, 0, 0].item() == pytest.approx(-8, abs=1e-2)
    forbid = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.1, 1.0]])
    assert latent_distribution(logits, present, *forbid)[0, 0].exp().mean().item() == pytest.approx(0.1, abs=1e-2)


def test_a_prediction_inside_its_bounds_is_its_own_latent_distribution_and_costs_nothing() -> None:
    logits = torch.randn(2, 3, 4, 4, dtype=torch.float64, requires_grad=True)
    log_q = latent_distribution(logits, torch.ones(2, 3, dtype=torch.bool), torch.zeros(2, 3), torch.ones(2, 3))
    torch.testing.assert_close(log_q, logits.detach().log_softmax(1))
    assert not log_q.requires_grad
    loss = latent_loss(logits, log_q)
    assert loss.item() == pytest.approx(0, abs=1e-9) and gradient(loss, logits).abs().max() < 1e-9


@given(SEEDS)
@many
def test_latent_loss_is_the_mean_divergence_by_pixel(seed: int) -> None:
    logits, present, lower, upper = random_case(seed, 3)
    log_q = latent_distribution(logits, present, lower, upper)
    expected, pixels = 0.0, 0
    for q, p in zip(log_q.exp().movedim(1, 3).reshape(-1, 3).tolist(), logits.softmax(1).movedim(1, 3).reshape(-1, 3).tolist(), strict=True):  # fmt: skip # noqa: E501
        expected += sum(a * math.log(a / b) for a, b in zip(q, p, strict=True) if a > 0)
        pixels += 1
    assert latent_loss(logits, log_q).item() == pytest.approx(expected / pixels, rel=1e-6, abs=1e-9)


def test_gradients_are_scaled_by_class_and_values_are_not() -> None:
    logits = torch.randn(2, 2, 3, 3, requires_grad=True)
    scaled = scale_gradient(logits, torch.tensor([0.1, 1.0]))
    assert torch.equal(scaled, logits)
    first, second = gradient(scaled.sum(), logits).unbind(1)
    assert first.flatten().tolist() == pytest.approx([0.1] * 18) and (second == 1).all()
