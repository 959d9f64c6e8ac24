"""The PraNet protocol as an option: of an experiment, of `evaluate`, and apart from the other figures."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console
from torch import Tensor
from typer.testing import CliRunner

from endotransfer.batch import LESION, Sample, SegOutput
from endotransfer.cli.main import app
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.evaluate import evaluate_samples
from endotransfer.engine.run import train
from endotransfer.metrics.pranet import NAMES, PraNetScores
from endotransfer.report.tables import print_results
from endotransfer.results import Results

CPU = torch.device("cpu")


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    """Four images of different sizes; a bright square is the lesion, and the last has none."""
    made = []
    for index in range(4):
        pixels = np.zeros((32 + index, 36, 3), np.uint8)
        if index < 3:
            pixels[8 : 20 + index, 8:20] = 200
        image, mask = tmp_path / f"{index}.png", tmp_path / f"{index}-mask.png"
        Image.fromarray(pixels).save(image)
        Image.fromarray(np.where(pixels[:, :, 0] > 0, 255, 0).astype(np.uint8)).save(mask)
        made.append(Sample(f"f/{index}", image, mask, LESION if index < 3 else 0))
    return made


def brightness(images: Tensor) -> SegOutput:
    logit = images.mean(1, keepdim=True)
    return SegOutput(torch.cat([torch.ones_like(logit), logit], 1), None, images)  # below even odds everywhere


def test_the_map_of_lesion_probability_is_what_is_scored(samples: list[Sample]) -> None:
    """The probability never reaches one half, so an argmax would paint nothing; stretched, the map is perfect."""
    scores, figures = evaluate_samples(brightness, samples[:1], Classes(), (32, 36), CPU, pranet=True)
    found, truth = figures["pranet"], np.zeros((32, 36), np.uint8)
    truth[8:20, 8:20] = 1
    expected = PraNetScores()
    expected.update(truth.astype(float), truth)
    assert found == pytest.approx(expected.summary())
    assert found["mae"] == 0 and found["max_dice"] == 100
    assert scores.summary(resamples=2)["iou_lesion"] == 0


def test_every_image_is_scored_at_its_own_size(samples: list[Sample]) -> None:
    found = evaluate_samples(brightness, samples, Classes(), (32, 36), CPU, pranet=True)[1]["pranet"]
    assert (found["images"], found["without_lesion"]) == (3, 1)
    assert 0 < found["mae"] < 5  # of the two that had to be resized


def test_it_is_there_only_when_asked_for_and_not_without_lesions(samples: list[Sample]) -> None:
    assert "pranet" not in evaluate_samples(brightness, samples, Classes(), (32, 36), CPU)[1]
    street = evaluate_samples(brightness, samples, Classes(), (32, 36), CPU, lesions=False, pranet=True)
    assert street[1]["pranet"] is None


def test_an_experiment_and_evaluate_give_the_same_section(
    make_experiment: Any, tasks: dict[str, Path], tmp_path: Path
) -> None:
    experiment = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1)
    evaluation = experiment.evaluation.model_copy(update={"pranet": True})
    results = train(experiment.model_copy(update={"evaluation": evaluation}), tmp_path / "run")
    assert results is not None and results["pranet"]["images"] > 0
    assert json.loads((tmp_path / "run" / "results.json").read_text())["pranet"] == results["pranet"]
    out = tmp_path / "again.json"
    arguments = ["evaluate", str(tmp_path / "run"), "--data", str(tasks["tagged"] / "capsule"), "--out", str(out)]
    told = CliRunner().invoke(app, [*arguments, "--pranet"])
    assert told.exit_code == 0 and "PraNet protocol" in told.output
    assert json.loads(out.read_text())["pranet"] == pytest.approx(results["pranet"])


def test_its_figures_are_printed_apart_and_fit_the_terminal() -> None:
    figures = dict.fromkeys(NAMES, 12.345) | {"images": 7, "max_dice": None}
    results = Results.model_validate({"method": "source_only", "seed": 0, "miou": 50.0, "pranet": figures})
    text = io.StringIO()
    print_results([results], Console(file=text, width=80))
    below = text.getvalue().partition("PraNet protocol, source_only, 7 images with a lesion")[2]
    assert "mean dice 12.35" in below.replace("\n", " ") or "mean dice 12.34" in below.replace("\n", " ")
    assert "max dice -" in below.replace("\n", " ")
    assert max(map(len, text.getvalue().splitlines())) <= 80
