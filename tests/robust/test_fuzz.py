"""A small share of `make fuzz`, with a seed of its own."""

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from fuzz.damaged_files import damage_checkpoints, damage_models, damage_states, damage_texts
from fuzz.kept_files import damage_caches, damage_notes
from fuzz.kills import kill_training
from fuzz.outcome import FuzzOutcome

SEED = 7


@pytest.mark.parametrize(
    ("damage", "counts"),
    [(damage_checkpoints, (150,)), (damage_states, (150,)), (damage_models, (60, 8)), (damage_texts, (150,)),
     (damage_caches, (200,)), (damage_notes, (300,))],
)  # fmt: skip
def test_whatever_is_damaged_is_refused_or_unchanged(damage: Any, counts: tuple[int, ...], tmp_path: Path) -> None:
    outcome = damage(tmp_path / "files", *counts, random.Random(SEED))
    assert outcome.problems == []
    assert outcome.refused > outcome.tried // 4  # they were damaged


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks with torch imported")
def test_killed_training_goes_on(make_experiment: Any, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=3, checkpoint_every=1)
    assert kill_training(tmp_path, experiment, 4, random.Random(SEED)).problems == []


def test_problems_are_found_where_there_are_some() -> None:
    def broken() -> None:
        raise KeyError("state")

    outcome = FuzzOutcome("itself")
    outcome.attempt("a traceback", broken, lambda found: True)
    outcome.attempt("a silent change", lambda: 1, lambda found: False)
    outcome.attempt("unchanged", lambda: 1, lambda found: True)
    assert [problem.partition(":")[0] for problem in outcome.problems] == ["a traceback", "a silent change"]
    assert (outcome.tried, outcome.unharmed) == (3, 1)
