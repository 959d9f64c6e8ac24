"""`training.mean_teacher`: the same averaged weights predict for every method, so that no row has them alone."""

from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.model_folder import load_model
from endotransfer.methods import METHODS

ALWAYS = ("semantic_transfer", "source_only", "tag_transfer")
METHOD_NAMES = [pytest.param(n, marks=[] if n in ALWAYS else pytest.mark.extended) for n in METHODS.names()]


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_the_teacher_predicts(make_experiment: Any, tmp_path: Path, name: str) -> None:
    experiment = make_experiment("tagged", name, epochs=2, steps_per_epoch=2, mean_teacher=0.5)
    engine.train(experiment, tmp_path / "run")
    kept = load_latest(tmp_path / "run" / "checkpoints")[0].tensors["weights"]
    teacher = {key.removeprefix("teacher.module."): v for key, v in kept.items() if key.startswith("teacher.module.")}
    saved = load_model(tmp_path / "run").module.state_dict()
    if not teacher:  # nothing is trained, so there is nothing to average
        assert not METHODS.get(name).phases
        return
    assert [key for key, value in saved.items() if not torch.equal(value, teacher[key])] == []


def test_it_is_the_plain_mean_of_the_first_students(make_experiment: Any, tmp_path: Path) -> None:
    """With a momentum near 1 and two steps the teacher is the mean of the students after each of them."""
    for steps in (1, 2):
        experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=steps, mean_teacher=0.999)
        engine.train(experiment, tmp_path / str(steps))
    first, second = (load_latest(tmp_path / str(steps) / "checkpoints")[0].tensors["weights"] for steps in (1, 2))
    key = "pixel_classifier.weight"
    students = [kept[f"segmenter.{key}"] for kept in (first, second)]
    torch.testing.assert_close(second[f"teacher.module.{key}"], (students[0] + students[1]) / 2)
