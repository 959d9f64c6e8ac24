"""What every method must do, checked on two tiny tasks."""

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from unittest.mock import patch

import numpy as np
import torch
import yaml
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.compare.runner import run_benchmark
from endotransfer.compare.suite import read_suite
from endotransfer.config import RawConfig
from endotransfer.engine.model_folder import load_model
from endotransfer.engine.run import evaluate, train
from endotransfer.errors import ConfigError
from endotransfer.export.bundle import write_bundle
from endotransfer.methods import METHODS, method_config
from endotransfer.methods.resolve import task_info
from endotransfer.predict.load import load
from endotransfer.testing.cases import Case, cases_of
from endotransfer.testing.repeated_run import differing, final_weights, train_in_two_parts, with_noisy_masks
from endotransfer.testing.tiny_tasks import CLASSES, SIZE, quick_settings
from endotransfer.testing.two_processes import SETTINGS, TOLERANCE, furthest_apart, without_dropout

if TYPE_CHECKING:  # pytest is no dependency of the package
    import pytest

    from endotransfer.testing.fixtures import MakeExperiment, TrainedRuns

TWO_PROCESSES = "test_two_processes_equal_one"
EXPORT = "test_its_model_is_exported"
REFUSED = "test_it_is_refused_without_the_tags_it_needs"
# Dear ones: on the task without tags, and for secondary presets, they are left to the extended run.
THOROUGH = {"test_a_second_run_is_bit_identical", "test_half_precision_trains", TWO_PROCESSES, EXPORT}


class MethodContract:
    """Subclass it as `TestMine`, with the names of your `methods`; needs the fixtures of `endotransfer.testing`."""

    methods: ClassVar[Sequence[str]] = ()
    exported: ClassVar[Sequence[str] | None] = None  # whose export is no extended test; None: of all

    def pytest_generate_tests(self, metafunc: "pytest.Metafunc") -> None:
        """Session scope: all tests of a case follow each other, and its run is trained once."""
        import pytest

        test = metafunc.function.__name__
        if "name" in metafunc.fixturenames:
            refused = test == REFUSED
            names = [name for name in self.methods if METHODS.get(name).needs.tags or not refused]
            metafunc.parametrize("name", names)
        if "case" in metafunc.fixturenames:
            cases = [case for case in cases_of(self.methods) if test != TWO_PROCESSES or case.comparable]
            params = [pytest.param(case, id=str(case), marks=self._marks(test, case)) for case in cases]
            metafunc.parametrize("case", params, scope="session")

    def _marks(self, test: str, case: Case) -> "list[pytest.MarkDecorator]":
        import pytest

        first = case.primary and case.task == "tagged"
        rarely = test == EXPORT and self.exported is not None and case.method not in self.exported
        extended = not case.primary or rarely or (test in THOROUGH and not first)
        slow = extended or not first or test in THOROUGH
        return [pytest.mark.extended] * extended + [pytest.mark.slow] * slow

    # -- one run, looked at from many sides -------------------------------------------------------------------------

    def test_a_run_leaves_results_a_model_and_a_log(self, trained: "TrainedRuns", case: Case) -> None:
        run = trained(case)
        results = json.loads((run / "results.json").read_text())
        assert (results["method"], results["preset"], results["seed"]) == (case.method, case.preset, 0)
        assert 0 <= results["miou"] <= 100
        assert len(results["iou"]) == CLASSES[case.task]
        assert "not a medical device" in (run / "model" / "README.md").read_text()

    def test_losses_are_finite_and_logged_by_name(self, trained: "TrainedRuns", case: Case) -> None:
        with (trained(case) / "metrics.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert any(row["name"].startswith("term/") for row in rows) == _trains(case)
        assert [row["name"] for row in rows if not math.isfinite(float(row["value"]))] == []

    def test_every_trained_weight_gets_a_finite_gradient(self, trained: "TrainedRuns", case: Case) -> None:
        watch = trained.watched(case)
        assert sorted(watch.not_finite) == []
        assert sorted(watch.trained - watch.with_gradient) == []

    def test_a_phase_moves_only_its_own_networks(self, trained: "TrainedRuns", case: Case) -> None:
        watch = trained.watched(case)
        assert bool(watch.phases) == _trains(case)
        assert sorted(watch.strayed) == []

    def test_a_checkpoint_makes_a_fresh_method_the_trained_one(
        self, trained: "TrainedRuns", make_experiment: "MakeExperiment", case: Case
    ) -> None:
        experiment = make_experiment(case.task, case.method, case.preset)
        cls, _, config = method_config(experiment.method)
        fresh = cls(task_info(experiment, CLASSES[case.task], case.task == "tagged"), config)
        fresh.load_state_dict(final_weights(trained(case)))
        saved = load_model(trained(case)).module.state_dict()
        predictor = fresh.predictor().state_dict()
        assert [name for name, value in predictor.items() if not torch.equal(value, saved[name])] == []

    def test_its_model_predicts_without_the_method(self, trained: "TrainedRuns", case: Case, tmp_path: Path) -> None:
        run = trained(case)
        with patch.object(METHODS, "_things", {}):
            mask = load(run / "model").predict(np.zeros((SIZE, SIZE + 9, 3), np.uint8)).mask
            assert mask.shape == (SIZE, SIZE + 9) and mask.max() < CLASSES[case.task]
            evaluate(run, [_target_folder(run)], split="test", out=tmp_path / "again.json")
        first, again = (json.loads(path.read_text()) for path in (run / "results.json", tmp_path / "again.json"))
        assert math.isclose(first["miou"], again["miou"], abs_tol=1e-9)

    def test_its_model_is_exported(self, trained: "TrainedRuns", case: Case, tmp_path: Path) -> None:
        import pytest

        for package in ("onnx", "onnxruntime", "onnxscript"):
            pytest.importorskip(package)
        write_bundle(trained(case), tmp_path / "bundle")  # which compares the graph with torch

    # -- runs that must agree ---------------------------------------------------------------------------------------

    def test_a_second_run_is_bit_identical(
        self, trained: "TrainedRuns", make_experiment: "MakeExperiment", tasks: dict[str, Path], case: Case,
        tmp_path: Path,
    ) -> None:  # fmt: skip
        """Stopped in mid-epoch and resumed, batches from other processes, and noise in place of target masks."""
        reads_masks = METHODS.get(case.method).needs.masks_of_target
        data = tasks[case.task] if reads_masks else with_noisy_masks(tasks[case.task], tmp_path)

        def again(name: str, folder: Path, *, stopped: bool, workers: int = 0) -> list[str]:
            experiment = make_experiment(case.task, case.method, case.preset, data=folder, workers=workers)
            (train_in_two_parts if stopped else train)(experiment, tmp_path / name)
            return differing(trained(case), tmp_path / name)

        differences = again("again", data, stopped=_trains(case), workers=2)  # a single pass has no middle
        if differences:  # say which of the four promises is broken
            assert not again("same", tasks[case.task], stopped=False), "the same seed gave other weights"
            assert not again("loaded", tasks[case.task], stopped=False, workers=2), "two loaders gave other weights"
            assert not again("resumed", tasks[case.task], stopped=True), "a resumed run ended with other weights"
            raise AssertionError(f"target masks of the training set were read: they changed {differences[:3]}")
        logs = [(run / "metrics.csv").read_text() for run in (trained(case), tmp_path / "again")]
        assert logs[0] == logs[1]

    def test_two_processes_equal_one(
        self, in_two_processes: Path, make_experiment: "MakeExperiment", case: Case, tmp_path: Path
    ) -> None:
        """To 1e-6 after 12 steps in double precision; every mean of a loss must go through `global_mean`."""
        train(without_dropout(make_experiment(case.task, case.method, case.preset, **SETTINGS)), tmp_path / "one")
        together = in_two_processes / str(case)
        distance, name = furthest_apart(tmp_path / "one", together)
        assert distance <= TOLERANCE, f"{name} differs by {distance:.2g}"
        both, alone = (json.loads((run / "results.json").read_text()) for run in (together, tmp_path / "one"))
        assert (both["cost"]["processes"], both["images"]) == (2, alone["images"])  # each measured its half
        assert math.isclose(both["miou"], alone["miou"], abs_tol=0.5)  # a pixel may tip over

    def test_half_precision_trains(self, make_experiment: "MakeExperiment", case: Case, tmp_path: Path) -> None:
        """Recipes ask for bf16, and who has no GPU runs them as they are."""
        short: RawConfig = {"precision": "bf16", "epochs": 2, "steps_per_epoch": 2}
        train(make_experiment(case.task, case.method, case.preset, **short), tmp_path / "run")
        assert 0 <= json.loads((tmp_path / "run" / "results.json").read_text())["miou"] <= 100

    # -- among the others -------------------------------------------------------------------------------------------

    def test_it_is_listed(self, name: str) -> None:
        listed = CliRunner().invoke(app, ["methods"]).output.splitlines()
        (line,) = [line for line in listed if line.split()[:1] == [name]]
        assert METHODS.get(name).summary in line

    def test_it_is_compared_in_a_benchmark(self, make_experiment: "MakeExperiment", name: str, tmp_path: Path) -> None:
        suite = make_experiment("tagged", name, epochs=1, steps_per_epoch=1).model_dump(mode="json")
        suite |= {"systems": [{"name": name, **quick_settings({"name": name})}], "seeds": 1}
        path = tmp_path / "suite.yaml"
        path.write_text(yaml.safe_dump({key: value for key, value in suite.items() if value is not None}))
        run_benchmark(read_suite(path), tmp_path / "out")
        (cell,) = json.loads((tmp_path / "out" / "results.json").read_text())["cells"]
        assert cell["label"] == name and 0 <= cell["miou"] <= 100

    def test_it_is_refused_without_the_tags_it_needs(
        self, make_experiment: "MakeExperiment", name: str, tmp_path: Path
    ) -> None:
        import pytest

        with pytest.raises(ConfigError, match="needs image tags"):
            train(make_experiment("untagged", name), tmp_path / "run")
        assert not (tmp_path / "run").exists()


def _trains(case: Case) -> bool:
    """Whether there are steps at all: a method may be done once it has prepared and seen the target set."""
    return bool(METHODS.get(case.method).phases)


def _target_folder(run: Path) -> Path:
    return Path(yaml.safe_load((run / "config.yaml").read_text())["data"]["target"][0]["path"])
