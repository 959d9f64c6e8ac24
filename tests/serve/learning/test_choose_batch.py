"""The next batch against its literal twin: doubt times distance, one a group, away from what is labelled."""

import math
import random
from statistics import fmean, pstdev

import numpy as np
import pytest

from endotransfer.serve.learning.choose_batch import Candidate, Features, choose_batch


def literal(candidates: list[Candidate], count: int, labelled: list[Features]) -> list[str]:
    """Every distance anew in every round, with plain numbers."""
    rows = [[float(value) for value in one] for one in [*(one.features for one in candidates), *labelled]]
    columns = [*zip(*rows, strict=True)]
    centre, spread = [fmean(column) for column in columns], [pstdev(column) or 1.0 for column in columns]
    points = [[(x - c) / s for x, c, s in zip(row, centre, spread, strict=True)] for row in rows]
    taken = points[len(candidates) :]
    chosen: list[Candidate] = []
    while len(chosen) < count:
        best: tuple[float, Candidate, list[float]] | None = None
        for one, point in zip(candidates, points, strict=False):
            if any(one.group == other.group for other in chosen):
                continue
            worth = one.doubt * min((math.dist(point, other) for other in taken), default=1.0)
            if best is None or worth > best[0] + 1e-12:
                best = worth, one, point
        if best is None:
            break
        chosen.append(best[1])
        taken = [*taken, best[2]]
    return [one.name for one in chosen]


def some(count: int, seed: int, groups: int) -> list[Candidate]:
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    return [
        Candidate(f"{n:02d}", draw.random(), numbers.normal(size=5).astype(np.float32), str(draw.randrange(groups)))
        for n in range(count)
    ]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("labelled", [0, 3])
def test_it_is_what_plain_numbers_give(seed: int, labelled: int) -> None:
    candidates = some(30, seed, groups=14)
    known = [one.features for one in some(labelled, seed + 100, groups=2)]
    found = choose_batch(candidates, 8, known)
    assert found == literal(candidates, 8, known)
    groups = {one.name: one.group for one in candidates}
    assert len({groups[name] for name in found}) == len(found) == 8


def test_the_first_is_the_most_doubtful_and_the_next_is_far_from_it() -> None:
    at = {"a": (0.9, 0.0), "b": (0.89, 0.01), "c": (0.5, 5.0)}
    candidates = [Candidate(name, doubt, np.array([x], np.float32), name) for name, (doubt, x) in at.items()]
    assert choose_batch(candidates, 3) == ["a", "c", "b"]
    assert choose_batch(candidates, 1, [candidates[0].features]) == ["c"]


def test_there_are_no_more_than_patients() -> None:
    assert len(choose_batch(some(20, 0, groups=3), 10)) == 3
    assert choose_batch([], 10) == []


def test_images_that_are_all_alike_are_still_chosen() -> None:
    alike = [Candidate(str(n), 0.5, np.ones(4, np.float32), str(n)) for n in range(4)]
    assert choose_batch(alike, 3) == ["0", "1", "2"]
