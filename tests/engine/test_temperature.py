"""The temperature: found where it is known, fitted without a target mask, and never a change of masks."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import endotransfer
from endotransfer.batch import Sample
from endotransfer.config import Experiment
from endotransfer.data.folders.classes import Classes
from endotransfer.data.read.checked_mask import read_checked_mask
from endotransfer.engine import evaluation_images
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.held_out_source import held_out_source
from endotransfer.engine.run import evaluate, train
from endotransfer.engine.temperature import NOT_FITTED, combine, pixel_temperature, tag_temperature
from endotransfer.errors import CheckpointError
from endotransfer.export.check import phantoms
from endotransfer.methods.task import Needs
from endotransfer.sealed_json import sealed
from endotransfer.testing.fixtures import MakeExperiment
from tests.model_folders import TASKS, write_model

GRID = np.exp(np.linspace(np.log(0.2), np.log(10), 4000))


def drawn(temperature: float, classes: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits, and labels that come as often as softmax(logits / temperature) says."""
    draw = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(20_000, classes, generator=draw)
    return logits, torch.multinomial((logits / temperature).softmax(1), 1, generator=draw)[:, 0]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_a_known_temperature_is_found(temperature: float) -> None:
    logits, labels = drawn(temperature)
    assert pixel_temperature(logits, labels) == pytest.approx(temperature, rel=0.05)


def test_the_search_finds_what_trying_every_temperature_finds() -> None:
    logits, labels = (values[:500] for values in drawn(1.7))
    pixels = [float(torch.nn.functional.cross_entropy(logits / one, labels)) for one in GRID]
    assert pixel_temperature(logits, labels) == pytest.approx(GRID[int(np.argmin(pixels))], rel=2e-3)
    lesion = labels != 0
    chance = [1 - (logits / one).softmax(1)[:, 0].double() for one in GRID]
    images = [float(-torch.where(lesion, p, 1 - p).log().mean()) for p in chance]
    assert tag_temperature(logits, lesion) == pytest.approx(GRID[int(np.argmin(images))], rel=2e-3)


def test_the_model_may_only_become_less_sure() -> None:
    assert combine(None, 3.0) == 1.0
    assert combine(0.7, None) == combine(0.7, 0.5) == 1.0
    assert combine(1.3, None) == combine(1.3, 0.5) == 1.3
    assert combine(1.3, 1.6) == 1.6
    assert combine(1.3, 9.9) == 2.0 and combine(2.4, 9.9) == 2.4


@pytest.mark.parametrize("task", TASKS)
def test_masks_are_the_same_at_any_temperature(tmp_path: Path, task: str) -> None:
    path = write_model(tmp_path, task) / "config.json"
    info = json.loads(path.read_text())
    assert info.pop("temperature") == 1.0
    path.write_text(sealed(info))  # a folder from before there were temperatures
    images = list(phantoms([(40, 56), (70, 51)]))
    before = [endotransfer.load(tmp_path, "cpu").predict(image) for image in images]
    for temperature in (0.4, 1.3, 4.0):
        path.write_text(sealed(info | {"temperature": temperature}))
        for image, old in zip(images, before, strict=True):
            new = endotransfer.load(tmp_path, "cpu").predict(image)
            np.testing.assert_array_equal(new.mask, old.mask)
            assert (new.confidence < old.confidence) == (temperature > 1)
            assert new.lesion_probability == old.lesion_probability


@pytest.mark.parametrize("wrong", [0, -1, 1e9, "warm", None])
def test_a_temperature_that_cannot_be_is_named(tmp_path: Path, wrong: object) -> None:
    path = write_model(tmp_path) / "config.json"
    path.write_text(sealed(json.loads(path.read_text()) | {"temperature": wrong}))
    with pytest.raises(CheckpointError, match=r"config.json.*temperature"):
        endotransfer.load(tmp_path, "cpu")


def divided(experiment: Experiment) -> Experiment:
    """Trained on the split `train` of its source alone."""
    source = tuple(folder.model_copy(update={"split": "train"}) for folder in experiment.data.source)
    return experiment.model_copy(update={"data": experiment.data.model_copy(update={"source": source})})


def test_held_out_images_are_none_that_the_experiment_uses(make_experiment: MakeExperiment) -> None:
    experiment = make_experiment("tagged", "tag_transfer")
    data = load_data(experiment.data, Needs())
    assert held_out_source(experiment.data, data.masked) == ([], None)  # all of the source is trained on
    data = load_data(divided(experiment).data, Needs())
    found, classes = held_out_source(divided(experiment).data, data.masked)
    assert found and classes == data.classes
    assert {one.split for one in found} == {"test"} and not {one.image for one in found} & {
        one.image for one in data.masked
    }
    assert held_out_source(divided(experiment).data, [*data.masked, *found]) == ([], None)


def test_training_fits_it_without_a_target_mask_and_evaluate_uses_it(
    make_experiment: MakeExperiment, tasks: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Sample] = []

    def watched(sample: Sample, size: tuple[int, int], classes: Classes, *, keep_contradictions: bool) -> object:
        opened.append(sample)
        return read_checked_mask(sample, size, classes, keep_contradictions=keep_contradictions)

    monkeypatch.setattr(evaluation_images, "read_checked_mask", watched)
    experiment = divided(make_experiment("tagged", "dacs", epochs=1, steps_per_epoch=2))
    results = train(experiment, tmp_path / "run")
    assert results is not None and results.temperature is not None
    fitted = results.temperature
    assert fitted.source is not None and fitted.tags is not None and fitted.source_images and fitted.target_images
    assert fitted.value == combine(fitted.source, fitted.tags)
    assert {one.split for one in opened} == {"test"}  # of the source, and those that are measured on
    info = json.loads((tmp_path / "run" / "model" / "config.json").read_text())
    assert info["temperature"] == fitted.value
    again = evaluate(tmp_path / "run", [tasks["tagged"] / "capsule"])
    assert again.calibration == results.calibration and again.temperature is not None
    assert again.temperature.value == fitted.value
    assert "were not trained on" in (tmp_path / "run" / "model" / "README.md").read_text()


def test_without_held_out_masks_the_run_says_so(make_experiment: MakeExperiment, tmp_path: Path) -> None:
    results = train(make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1), tmp_path / "run")
    assert results is not None and results.temperature is not None
    assert results.temperature.value == 1.0 and results.temperature.note == NOT_FITTED
    assert "Not calibrated: no held-out source masks." in (tmp_path / "run" / "model" / "README.md").read_text()
