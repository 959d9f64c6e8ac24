"""The gate's accuracy against a plain list."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.models.critics.running_accuracy import RunningAccuracy
from tests.properties import examples

scores = st.lists(st.sampled_from([-2.0, -0.1, 0.0, 0.1, 2.0]), min_size=1, max_size=6)


@given(st.integers(1, 4), st.lists(st.tuples(scores, scores), min_size=1, max_size=9))
@examples(100)
def test_the_value_is_the_mean_of_the_last_steps(size: int, steps: list[tuple[list[float], list[float]]]) -> None:
    accuracy, history = RunningAccuracy(size).double(), []
    for source, target in steps:
        accuracy.update(torch.tensor(source), torch.tensor(target))
        right = sum(score < 0 for score in source) + sum(score > 0 for score in target)
        history.append(right / (len(source) + len(target)))
        last = history[-size:]
        assert accuracy.value().item() == pytest.approx(sum(last) / len(last), rel=1e-9)


def test_before_the_first_step_a_critic_is_never_right() -> None:
    assert RunningAccuracy(3).value().item() == 0


def test_its_state_travels() -> None:
    one, other = RunningAccuracy(3), RunningAccuracy(3)
    for step in range(5):
        one.update(torch.full((4,), -1.0), torch.full((step + 1,), -1.0))
    other.load_state_dict(one.state_dict())
    for accuracy in (one, other):
        accuracy.update(torch.tensor([-1.0]), torch.tensor([1.0]))
    assert torch.equal(one.value(), other.value()) and 0 < one.value() < 1
    assert not list(one.parameters())
