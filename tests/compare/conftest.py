"""Suites on the tiny task, and a training that takes no time: it writes what a run would write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from endotransfer.compare import run_cell
from endotransfer.compare.suite import Suite, read_suite
from endotransfer.config import Experiment, as_yaml
from endotransfer.engine.measure_run import head_of
from endotransfer.engine.run_folder import RunFolder, open_run
from endotransfer.errors import TrainingDiverged
from endotransfer.metrics import Scores
from endotransfer.results import Results

MakeSuite = Callable[..., Suite]


@pytest.fixture
def suite_file(make_experiment: Any, tmp_path: Path) -> Callable[..., Path]:
    """`suite_file([systems], key=value)`: a suite's file on the tagged task."""

    def write(systems: Any, **keys: Any) -> Path:
        raw = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1).model_dump(mode="json")
        raw |= {"systems": systems, **keys}
        path = tmp_path / "suite.yaml"
        path.write_text(yaml.safe_dump({key: value for key, value in raw.items() if value is not None}))
        return path

    return write


@pytest.fixture
def make_suite(suite_file: Callable[..., Path]) -> MakeSuite:
    def make(systems: Any, overrides: list[str] | None = None, **keys: Any) -> Suite:
        return read_suite(suite_file(systems, **keys), overrides)

    return make


class FakeTraining:
    """Stands in for `engine.run.train`; `stops`: how many runs end before a stop.

    `fails` names methods that diverge, `breaks` those that meet an error that nobody foresaw.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, bool]] = []  # (run, seed, resumed)
        self.fails: set[str] = set()
        self.breaks: set[str] = set()
        self.stops: int | None = None

    def __call__(self, experiment: Experiment, out: Path, *, resume: bool, force: bool, **_: Any) -> Any:
        self.calls.append((out.name, experiment.seed, resume))
        run = open_run(out, resume=resume, force=force)
        run.config.write_text(as_yaml(experiment))
        if experiment.method["name"] in self.fails:
            raise TrainingDiverged("loss/net is not finite; lower training.lr.")
        if experiment.method["name"] in self.breaks:
            raise ValueError("a fault of the program")
        if self.stops is not None and len(self.calls) > self.stops:
            return None
        return finish(run, experiment)


def finish(
    run: RunFolder, experiment: Experiment, skill: float | None = None, images: int = 6, normal: bool = False
) -> Results:
    """results.json and scores.json of six images of three patients; the skill is that of method and seed.

    `normal`: every second image has no lesion.
    """
    skills = {"source_only": 0.3, "lta": 0.5, "semantic_transfer": 0.7, "tag_transfer": 0.8}
    skill = skills[experiment.method["name"]] + 0.05 * experiment.seed if skill is None else skill
    draw = np.random.default_rng(experiment.seed)
    scores = Scores(["normal", "lesion"])
    for index in range(images):
        truth = (np.arange(64).reshape(8, 8) < 8 * (index % 6 + 1)).astype(int) * (not normal or index % 2)
        wrong = draw.random((8, 8)) > skill
        scores.update(np.where(wrong, 1 - truth, truth), truth, key=f"capsule/{index}", group=f"p{index // 2}", tag=1)
    head = head_of(experiment.method, experiment.seed, scores.classes)
    results = Results.model_validate(head | scores.summary(resamples=20).to_dict())
    (run.path / "scores.json").write_text(json.dumps(scores.rows()))
    results.write(run.results)
    return results


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> FakeTraining:
    fake = FakeTraining()
    monkeypatch.setattr(run_cell, "train", fake)
    return fake
