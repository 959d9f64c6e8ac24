"""Training leaves a warning for what it has not seen: fitted without a mask, told in results, used by predict."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import endotransfer
from endotransfer.batch import SegOutput
from endotransfer.config import Experiment
from endotransfer.data.phantom.write import write_phantom
from endotransfer.data.read.read_image import read_image
from endotransfer.engine import evaluation_images
from endotransfer.engine.calibrate import reader_of
from endotransfer.engine.experiment_data import ExperimentData, load_data
from endotransfer.engine.fit_warning import fit_warning
from endotransfer.engine.run import train
from endotransfer.engine.warning_text import ABSENT
from endotransfer.familiarity.familiarity import FEWEST
from endotransfer.familiarity.familiarity_file import FILE
from endotransfer.methods.task import Needs
from endotransfer.results import Alarms, Results
from endotransfer.testing.fixtures import MakeExperiment


@pytest.fixture(scope="module")
def phantom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phantom")
    write_phantom(folder, 40, seed=1, size=32, processes=1)
    return folder


@pytest.fixture
def data(make_experiment: MakeExperiment, phantom: Path) -> ExperimentData:
    return load_data(make_experiment("tagged", "dacs", data=phantom).data, Needs())


def fit(experiment: Experiment, data: ExperimentData, *, target_masks: bool = False) -> tuple[object, Alarms]:
    def network(images: torch.Tensor) -> SegOutput:
        return SegOutput(images[:, :2], None, torch.cat([images, images**2], 1))

    return fit_warning(
        reader_of(network, experiment, torch.device("cpu"), torch.float32), data, target_masks=target_masks
    )


def test_training_fits_it_and_predict_uses_it(
    make_experiment: MakeExperiment, phantom: Path, data: ExperimentData, tmp_path: Path
) -> None:
    results = train(make_experiment("tagged", "dacs", data=phantom, epochs=1), tmp_path / "run")
    assert results is not None and results.familiarity is not None
    told = results.familiarity
    assert told.images == len(data.target) >= FEWEST and told.test_images == len(data.test)
    assert told.domain == "target" and told.held_out is not None and told.test is not None and not told.note
    assert Results.read(tmp_path / "run" / "results.json").familiarity == told
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert f"unlike the {told.images} target training images" in card and f"{told.test:.1f} %" in card
    predictor = endotransfer.load(tmp_path / "run", "cpu")
    flagged = [predictor.predict(one.image).unfamiliar for one in data.test]
    assert 100 * np.mean([flag is True for flag in flagged]) == pytest.approx(told.test)
    black = predictor.predict(np.zeros((32, 32, 3), np.uint8))
    assert black.unfamiliar and black.unfamiliarity is not None and black.unfamiliarity.reason == "almost black"


def test_no_mask_is_opened_and_only_target_training_images_are_fitted_to(
    make_experiment: MakeExperiment, phantom: Path, data: ExperimentData, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def watched(path: Path) -> np.ndarray:
        opened.append(path)
        return read_image(path)

    monkeypatch.setattr(evaluation_images, "read_image", watched)
    monkeypatch.setattr(evaluation_images, "read_checked_mask", None)  # calling it would be an error
    fitted, told = fit(make_experiment("tagged", "source_only", data=phantom), replace(data, test=[]))
    assert fitted is not None and told.test is None
    assert {*opened} == {one.image for one in data.target}


def test_without_a_target_the_source_is_what_is_usual(
    make_experiment: MakeExperiment, phantom: Path, data: ExperimentData
) -> None:
    experiment = make_experiment("tagged", "source_only", data=phantom)
    fitted, told = fit(experiment, replace(data, target=[]))
    assert fitted is not None and told.domain == "source" and told.images == data.source_images
    assert fit(experiment, replace(data, target=[]), target_masks=True)[1].domain == "target"


def test_too_few_images_and_a_bad_one_cost_the_warning_and_not_the_run(
    make_experiment: MakeExperiment, phantom: Path, data: ExperimentData, tmp_path: Path
) -> None:
    experiment = make_experiment("tagged", "source_only", data=phantom)
    fitted, told = fit(experiment, replace(data, target=data.target[:5]))
    assert fitted is None
    assert told.note == "not fitted: 5 target training images, and fewer than 24 say too little"
    (tmp_path / "bad.png").write_bytes(b"no image")
    fitted, told = fit(experiment, replace(data, test=[replace(data.test[0], image=tmp_path / "bad.png")]))
    assert fitted is None and told.note.startswith("not fitted: ") and "bad.png" in told.note


def test_a_run_with_few_images_says_that_it_cannot_tell(make_experiment: MakeExperiment, tmp_path: Path) -> None:
    train(make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1), tmp_path / "run")
    model = tmp_path / "run" / "model"
    assert not (model / FILE).exists()
    card = (model / "README.md").read_text()
    assert ABSENT[:-1] in card and "fewer than 24" in card
    Image.fromarray(np.zeros((32, 32, 3), np.uint8)).save(tmp_path / "black.png")
    prediction = endotransfer.load(model, "cpu").predict(tmp_path / "black.png")
    assert prediction.unfamiliar is None and prediction.unfamiliarity is None
