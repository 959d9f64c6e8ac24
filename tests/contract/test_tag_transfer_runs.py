"""Runs with tag_transfer: the local layer is trained once, and who labels is decided once and reported."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import endotransfer
from endotransfer.config import experiment_from
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.engine import run as engine
from endotransfer.engine import target_pass
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.trainer import Trainer
from endotransfer.errors import DataError
from endotransfer.methods.tag_transfer import TagTransfer


def test_the_local_layer_is_trained_once_before_the_first_step(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared, prepare = [], TagTransfer.prepare

    def counted(self: TagTransfer, *sets: Any) -> None:
        prepared.append(self.progress.step)
        prepare(self, *sets)

    monkeypatch.setattr(TagTransfer, "prepare", counted)
    settings = {"epochs": 3, "steps_per_epoch": 2, "checkpoint_every": 2}
    experiment, run = make_experiment("tagged", "tag_transfer", **settings), tmp_path / "run"
    engine.train(experiment, run)
    assert prepared == [0]
    shutil.rmtree(run / "checkpoints" / f"step-{list_steps(run / 'checkpoints')[-1]:08d}")
    (run / "results.json").unlink()
    engine.train(experiment, run, resume=True)
    assert prepared == [0]
    epochs: dict[str, set[int]] = {}
    decisions = set()
    with (run / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            epochs.setdefault(row["name"], set()).add(int(row["epoch"]))
            if row["name"] == "pass/segmenter_alone":
                decisions.add(float(row["value"]))
    assert epochs["term/segmentation_source"] == {0, 1, 2}
    assert epochs["pass/segmenter_alone"] == epochs["pass/local_limit"] == {1, 2}
    weights = load_latest(run / "checkpoints")[0].tensors["weights"]
    assert list(decisions) == pytest.approx([weights["labeller.choice.segmenter_alone"].item()])
    assert (weights["labeller.scorer.linear.weight"] != 0).any()


def test_a_run_reports_once_who_labels_and_a_resumed_one_agrees(make_experiment: Any, tmp_path: Path) -> None:
    console, run = Console(record=True, width=400), tmp_path / "run"
    settings = {"epochs": 3, "steps_per_epoch": 2}  # two passes
    results = engine.train(make_experiment("tagged", "tag_transfer", **settings), run, console=console)
    assert results is not None
    remark, of_places = results["remarks"]
    printed = console.export_text()
    assert printed.count(remark) == printed.count(of_places) == 1
    assert "the local layer learns from" in of_places
    assert json.loads(json.dumps(results.to_dict())) == json.loads((run / "results.json").read_text())
    assert results["lesion_labeller"]["used"] in ("segmenter", "local")
    assert 0 <= results["lesion_labeller"]["source_tag_auroc"] <= 1
    assert remark[1:] in (run / "model" / "README.md").read_text()
    (run / "results.json").unlink()
    again = engine.train(make_experiment("tagged", "tag_transfer", **settings), run, resume=True)
    assert again is not None and again["lesion_labeller"] == results["lesion_labeller"]


def test_a_local_labeller_without_normal_images_is_refused_before_the_first_step(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_experiment("tagged", "tag_transfer").model_dump(mode="json")
    experiment = experiment_from(made | {"method": made["method"] | {"lesion_labeller": "local"}})
    assert engine.train(experiment, tmp_path / "run") is not None
    assert endotransfer.load(tmp_path / "run") is not None  # a trained model needs no labeller
    monkeypatch.setattr(Trainer, "_train_step", lambda *_: pytest.fail("a step was trained"))
    untagged = PassSet.without_images
    monkeypatch.setattr(PassSet, "without_images", lambda self: (replace(b, tags=None) for b in untagged(self)))
    with pytest.raises(DataError, match="no target image is tagged normal"):
        engine.train(experiment, tmp_path / "other")


def test_a_run_stopped_in_its_first_pass_resumes_with_the_trained_local_layer(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large pass saves before it begins: here before the first step, with the local layer trained already."""
    monkeypatch.setattr(target_pass, "LARGE", 0)
    experiment, run = (
        make_experiment("tagged", "tag_transfer", epochs=1, steps_per_epoch=4),
        tmp_path / "run",
    )  # no warm-up

    def killed(*_: Any) -> None:
        raise RuntimeError("killed")

    def begun(self: TagTransfer, target: Any) -> None:
        target.logit_cache(3)
        killed()

    with monkeypatch.context() as patched:
        patched.setattr(TagTransfer, "target_pass", begun)
        with pytest.raises(RuntimeError, match="killed"):
            engine.train(experiment, run)
    assert list_steps(run / "checkpoints") == [0]
    monkeypatch.setattr(TagTransfer, "prepare", killed)  # it must not be called again
    engine.train(experiment, run, resume=True)
    assert (load_latest(run / "checkpoints")[0].tensors["weights"]["labeller.scorer.linear.weight"] != 0).any()
