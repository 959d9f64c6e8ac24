"""Which mask is meant: the rule against a literal twin; and what a prompt is without its last click."""

import numpy as np
import pytest

from endotransfer.predict.prompts.choose_proposal import choose_proposal
from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.prompt_model import LOW, Proposals

SIZE = (300, 500)


def blocks(seed: int) -> np.ndarray:
    """Three masks as logits."""
    coarse = np.random.default_rng(seed).normal(size=(3, 8, 8)).astype(np.float32)
    return coarse.repeat(LOW // 8, 1).repeat(LOW // 8, 2)


def literal_choice(proposals: Proposals, points: tuple[Point, ...], before: np.ndarray | None) -> int:
    best, chosen = -np.inf, -1
    for k in range(3):
        worth = float(proposals.expected_iou[k])
        for point in points:
            row, column = int((point.y + 0.5) * 256 / SIZE[0]), int((point.x + 0.5) * 256 / SIZE[1])
            if (proposals.logits[k, row, column] > 0) != point.positive:
                worth -= 1
        if before is not None:
            both = sum(((proposals.logits[k] > 0) & (before > 0)).ravel().tolist())
            either = sum(((proposals.logits[k] > 0) | (before > 0)).ravel().tolist())
            worth += both / max(1, either)
        if worth > best:
            best, chosen = worth, k
    return chosen


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("refines", [False, True])
def test_the_choice_is_that_of_its_literal_twin(seed: int, refines: bool) -> None:
    random = np.random.default_rng(seed + 100)
    proposals = Proposals(blocks(seed), random.random(3).astype(np.float32))
    points = tuple(Point(random.uniform(0, 499), random.uniform(0, 299), bool(random.integers(2))) for _ in range(4))
    before = blocks(seed + 50)[0] if refines else None
    chosen = choose_proposal(proposals, SIZE, Prompt(points), before)
    assert (chosen == proposals.logits[literal_choice(proposals, points, before)]).all()


def test_a_mask_that_contradicts_the_click_loses_against_any_that_does_not() -> None:
    without, with_it = np.full((LOW, LOW), -1, np.float32), np.full((LOW, LOW), 1, np.float32)
    proposals = Proposals(np.stack([without, with_it, without]), np.array([0.99, 0.01, 0.99], np.float32))
    assert (choose_proposal(proposals, SIZE, Prompt((Point(499.4, 299.4),)), None) == with_it).all()


def test_a_prompt_without_its_last_click() -> None:
    one, other = Point(1, 2), Point(3, 4, positive=False)
    box = (0.0, 0.0, 9.0, 9.0)
    assert Prompt((one, other), box).before() == Prompt((one,), box)
    assert Prompt((one,), box).before() == Prompt((), box)
    assert Prompt((), box).before() == Prompt()
    assert [prompt.empty for prompt in (Prompt(), Prompt((other,)), Prompt((one,)), Prompt((), box))] == [1, 1, 0, 0]
