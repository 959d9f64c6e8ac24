"""Masks that a person confirmed on target images: every method learns from them, and only where it is asked to."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console

from endotransfer.batch import IGNORE
from endotransfer.config import Experiment
from endotransfer.data.folders.drawn_sample import Plan, write_plan
from endotransfer.data.folders.review_record import Decision, Review
from endotransfer.data.folders.reviewed import write_review
from endotransfer.data.pipeline.batch_source import BatchSource
from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.training_data import load_training_data
from endotransfer.errors import DataError
from endotransfer.methods import METHODS

ALWAYS = ("semantic_transfer", "source_only")  # the term is the engine's own: others are left to the extended run
METHOD_NAMES = [
    pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.extended)
    for name, method in METHODS.items()
    if not method.needs.masks_of_target and method.phases  # without phases no network is trained
]


@pytest.fixture
def reviewed(tasks: dict[str, Path], tmp_path: Path) -> Path:
    """The tagged task, where a person accepted, corrected, rejected and left unsigned one training image each."""
    folder = tmp_path / "tagged"
    shutil.copytree(tasks["tagged"], folder)
    images = folder / "capsule"
    training = [line.split(",")[0] for line in (images / "labels.csv").read_text().splitlines()[1:] if "train" in line]
    decisions: tuple[Decision | None, ...] = ("accepted", "corrected", "rejected", None)
    for name, decision in zip(training, decisions, strict=False):
        mask = np.full((32, 32), IGNORE, np.uint8)
        mask[:16], mask[:8, :8] = 0, 1  # the lower half was not looked at
        if decision:
            write_review(images, name, Review(decision, "A. Reader", "2026-11-15T12:00:00Z", None, "0.1.0"), mask)
        else:
            Image.fromarray(mask).save(images / "reviewed" / f"{name}.png")
    return folder


def using(experiment: Experiment) -> Experiment:
    data = experiment.data.model_copy(update={"reviewed": "use"})
    return experiment.model_copy(update={"data": data})


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_every_method_learns_from_them(make_experiment: Any, reviewed: Path, tmp_path: Path, name: str) -> None:
    short = {"epochs": 2, "steps_per_epoch": 1, "batch_reviewed": 2}
    engine.train(using(make_experiment("tagged", name, data=reviewed, **short)), tmp_path / "run")
    terms = {line.split(",")[3] for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()}
    assert "term/reviewed" in terms


def test_they_change_what_is_learnt_and_ignoring_them_changes_nothing(
    make_experiment: Any, tasks: dict[str, Path], reviewed: Path, tmp_path: Path
) -> None:
    short = {"epochs": 1, "steps_per_epoch": 2}
    plain = make_experiment("tagged", "source_only", **short)
    ignoring = make_experiment("tagged", "source_only", data=reviewed, **short)
    for experiment, name in ((plain, "plain"), (ignoring, "ignoring"), (using(ignoring), "using")):
        engine.train(experiment, tmp_path / name)
    one, two, three = (weights(tmp_path / name) for name in ("plain", "ignoring", "using"))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not all(torch.equal(one[key], three[key]) for key in one)


@pytest.mark.parametrize("on_device", [False, True])
def test_batches_carry_what_was_decided_and_nothing_else(make_experiment: Any, reviewed: Path, on_device: bool) -> None:
    experiment = using(make_experiment("tagged", "source_only", data=reviewed))
    needs = METHODS.get("source_only").needs
    experiment_data = load_data(experiment.data, needs)
    assert len(experiment_data.reviewed) == 2  # neither the rejected one nor that which nobody signed
    batch_source = load_training_data(
        experiment, experiment_data, needs, lambda *_: None, console=Console(quiet=True)
    ).batch_source
    assert isinstance(batch_source, BatchSource)
    source = DeviceBatchSource(batch_source, torch.device("cpu")) if on_device else batch_source
    (batch,) = source.batches(0, 1, pass_epoch=None)
    assert batch.reviewed is not None
    assert len(batch.reviewed.images) == len(batch.reviewed.masks) == experiment.training.batch_reviewed
    assert set(batch.reviewed.keys) == {sample.key for sample in experiment_data.reviewed}
    assert sorted(set(batch.reviewed.masks.flatten().tolist())) == [0, 1, IGNORE]  # 255 is not a lesion here
    assert (batch.reviewed.masks == 1).float().mean() == pytest.approx(64 / 1024)
    assert batch.target is None


def test_asking_for_them_where_there_are_none_is_a_mistake(make_experiment: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no target training image has a reviewed mask"):
        engine.train(using(make_experiment("tagged", "source_only")), tmp_path / "run")


def test_what_was_drawn_to_measure_on_does_not_teach(make_experiment: Any, reviewed: Path) -> None:
    experiment = using(make_experiment("tagged", "source_only", data=reviewed))
    taught = {sample.image.stem for sample in load_data(experiment.data, METHODS.get("source_only").needs).reviewed}
    drawn, kept = sorted(taught)
    write_plan(reviewed / "capsule", Plan([drawn, "an-image-that-left"], "all", 0, "2026-11-15T12:00:00+00:00"))
    assert [sample.image.stem for sample in load_data(experiment.data, METHODS.get("source_only").needs).reviewed] == [
        kept
    ]


def test_a_damaged_record_is_named(make_experiment: Any, reviewed: Path) -> None:
    for path in (reviewed / "capsule" / "reviewed").glob("*.json"):
        path.write_text("[1, 2")
    experiment = using(make_experiment("tagged", "source_only", data=reviewed))
    with pytest.raises(DataError, match=r"reviewed/.*\.json: is not a readable review"):
        load_data(experiment.data, METHODS.get("source_only").needs)
