"""Figures that arrive late stop a run all the same, and a step that is not finite leaves the weights alone."""

import json
import math
from pathlib import Path

import pytest
import torch
from torch.optim import SGD, Adam, AdamW, Optimizer

from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.step_figures import StepFigures, on_their_way, skip_unless_finite
from endotransfer.errors import TrainingDiverged


def figures(*values: float) -> StepFigures:
    return StepFigures("net", 7, ("a", "b"), *on_their_way(torch.tensor(values)), lr=0.1, keys=["s/one"])


def test_terms_their_shares_and_the_norm_are_told(tmp_path: Path) -> None:
    found = figures(3.0, -1.0, 5.0).settle(RunFolder(tmp_path))
    assert found == {
        "loss/net": 2.0, "norm/net": 5.0, "lr/net": 0.1, "term/a": 3.0, "term/b": -1.0, "share/a": 0.75, "share/b": 0.25
    }  # fmt: skip


@pytest.mark.parametrize("values, guilty", [((math.nan, 1, 1), ["a"]), ((1, 1, math.inf), ["the gradient of net"])])
def test_what_is_not_finite_stops_the_run_and_is_named(
    tmp_path: Path, values: tuple[float, ...], guilty: list[str]
) -> None:
    with pytest.raises(TrainingDiverged, match="stopped at step 7 before the update"):
        figures(*values).settle(RunFolder(tmp_path))
    assert json.loads((tmp_path / "diverged.json").read_text())["guilty"] == guilty


@pytest.mark.parametrize("kind", [Adam, AdamW, SGD])
@pytest.mark.parametrize("term, moves", [(1.0, True), (math.nan, False), (math.inf, False)])
def test_fused_optimisers_skip_a_step_that_is_not_finite(kind: type[Optimizer], term: float, moves: bool) -> None:
    weights = torch.nn.Parameter(torch.ones(3))
    optimiser = kind([weights], lr=0.1, fused=True)  # type: ignore[call-arg]
    weights.grad = torch.full((3,), term)
    skip_unless_finite(optimiser, torch.tensor([term, 1.0]))
    optimiser.step()
    assert bool((weights != 1).all()) == moves


def test_other_optimisers_take_no_notice() -> None:
    weights = torch.nn.Parameter(torch.ones(3))
    optimiser = Adam([weights], lr=0.1)
    weights.grad = torch.ones(3)
    skip_unless_finite(optimiser, torch.tensor([math.nan]))
    optimiser.step()
    assert bool((weights != 1).all())
