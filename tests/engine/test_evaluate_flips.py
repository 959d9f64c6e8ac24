"""`evaluate --flips` measures what `predict --flips` paints."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn.functional import conv2d
from typer.testing import CliRunner

import endotransfer
from endotransfer.batch import LESION, Sample, SegOutput
from endotransfer.cli.main import app
from endotransfer.config import FolderConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.data.read.read_image import read_image
from endotransfer.engine.evaluate import evaluate_samples
from endotransfer.engine.experiment_data import read_role
from endotransfer.engine.run import train
from endotransfer.inference import InferenceGeometry, slide
from endotransfer.metrics import confusion


def test_the_masks_that_are_measured_are_those_of_predict(
    make_experiment: Any, tasks: dict[str, Path], tmp_path: Path
) -> None:
    run, folder = tmp_path / "run", tasks["tagged"] / "capsule"
    train(make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=2), run)
    found = {}
    for name, options in (("plain", []), ("flips", ["--flips"])):
        out = tmp_path / f"{name}.json"
        told = CliRunner().invoke(app, ["evaluate", str(run), "--data", str(folder), "--out", str(out), *options])
        assert told.exit_code == 0, told.output
        assert ("with flips" in " ".join(told.output.split())) == bool(options)
        found[name] = json.loads(out.read_text())
    assert "flips" not in found["plain"] and found["flips"]["flips"] is True

    predictor, domain = endotransfer.load(run, "cpu", flips=True), read_role([FolderConfig(path=folder)], "test")
    assert domain is not None
    both = either = 0
    for sample in domain.samples:
        assert sample.mask is not None
        painted = predictor.predict(read_image(sample.image)).mask == 1
        truth = read_image(sample.mask)[..., 0] > 0
        both, either = both + np.sum(painted & truth), either + np.sum(painted | truth)
    assert found["flips"]["iou_lesion"] == pytest.approx(100 * both / either)
    assert found["flips"]["tag_evidence"] != found["plain"]["tag_evidence"]


def test_s1_is_averaged_too_and_a_network_blind_to_mirrors_gains_nothing(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "0.png")
    Image.fromarray(np.where(pixels[..., 0] > 127, 255, 0).astype(np.uint8)).save(tmp_path / "0-mask.png")
    sample = Sample("f/0", tmp_path / "0.png", tmp_path / "0-mask.png", LESION)

    def corner(images: Tensor) -> SegOutput:
        """Pixels by themselves; S1 looks at one corner."""
        logits = torch.cat([torch.full_like(images[:, :1], 0.5), images[:, :1]], 1)
        return SegOutput(logits, 9 * images[:, :2, 0, 0], images)

    plain, flipped = (
        evaluate_samples(corner, [sample], Classes(), (16, 16), torch.device("cpu"), flips=flips)
        for flips in (False, True)
    )
    assert plain[0].summary(resamples=2)["iou"] == flipped[0].summary(resamples=2)["iou"]
    image = torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255
    corners = [corner(image.flip(axes)).tag_logits for axes in ((), (3,), (2,), (2, 3))]
    expected = torch.stack([logits.softmax(1)[0, LESION] for logits in corners if logits is not None]).mean()
    assert flipped[0].rows()[0]["lesion_probability"] == pytest.approx(float(expected), abs=1e-6)
    assert flipped[0].rows()[0]["lesion_probability"] != pytest.approx(plain[0].rows()[0]["lesion_probability"])


def test_three_classes_through_a_sliding_window(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    pixels, truth = random.integers(0, 255, (24, 20, 3)).astype(np.uint8), random.integers(0, 3, (24, 20))
    Image.fromarray(pixels).save(tmp_path / "0.png")
    Image.fromarray(truth.astype(np.uint8)).save(tmp_path / "0-mask.png")
    sample = Sample("f/0", tmp_path / "0.png", tmp_path / "0-mask.png", LESION)
    kernel = torch.randn(3, 3, 3, 3, generator=torch.Generator().manual_seed(2))

    def lopsided(images: Tensor) -> SegOutput:
        return SegOutput(conv2d(images, kernel, padding=1), None, images)

    geometry, classes = InferenceGeometry((24, 20), window=(12, 10)), Classes(("normal", "polyp", "ulcer"))
    scores, _ = evaluate_samples(lopsided, [sample], classes, geometry, torch.device("cpu"), flips=True)
    image, total = torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255, torch.zeros(1, 3, 24, 20)
    for axes in ((), (3,), (2,), (2, 3)):
        total += slide(lopsided, image.flip(axes), (12, 10)).flip(axes).softmax(1)
    expected = confusion(total.argmax(1)[0], torch.from_numpy(truth), 3)
    assert scores.matrices()[0].tolist() == expected.tolist()
    plain = confusion(slide(lopsided, image, (12, 10)).argmax(1)[0], torch.from_numpy(truth), 3)
    assert plain.tolist() != expected.tolist()
