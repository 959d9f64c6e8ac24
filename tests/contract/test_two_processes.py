"""What two processes began one can finish.  (That two equal one is part of every method's contract.)"""

import shutil
from pathlib import Path

import pytest

from endotransfer.config import read_experiment
from endotransfer.engine.checkpoint import list_steps
from endotransfer.engine.run import train
from endotransfer.testing.cases import Case, cases_of
from endotransfer.testing.fixtures import MakeExperiment
from endotransfer.testing.two_processes import (
    SETTINGS,
    TOLERANCE,
    furthest_apart,
    train_in_two_processes,
    without_dropout,
)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["semantic_transfer", pytest.param("cbst", marks=pytest.mark.extended)])
def test_what_two_processes_began_one_can_finish(make_experiment: MakeExperiment, tmp_path: Path, method: str) -> None:
    case: Case = cases_of([method])[0]
    experiment = without_dropout(make_experiment(case.task, method, case.preset, **SETTINGS))
    together = experiment.model_copy(update={"training": experiment.training.model_copy(update={"devices": 2})})
    run = train_in_two_processes([(case, together)], tmp_path / "pair") / str(case)
    finished = list_steps(run / "checkpoints")[-1]
    shutil.rmtree(run / "checkpoints" / f"step-{finished:08d}")  # as if both had been stopped in mid-epoch
    (run / "results.json").unlink()
    assert read_experiment(run / "config.yaml").training.devices == 2
    train(experiment, run, resume=True)
    train(experiment, tmp_path / "one")
    assert furthest_apart(tmp_path / "one", run)[0] <= TOLERANCE
