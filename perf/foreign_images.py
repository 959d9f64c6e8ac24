"""`python -m perf.foreign_images`: does a model notice pictures that it has not seen?  AUROC and alarms by kind.

    python -m perf.foreign_images RUN --street FOLDER --endoscopy FOLDER [--own FOLDER] [--seed 0]

RUN: a trained run; its target's test images must pass, whatever is listed must not.  A model without its run (one that
ships) is told its own images by --own.  The folders hold any images:
street photographs, and frames of another kind of endoscope; a kind without a folder is left out.  Without RUN a small
network is trained on the phantom (a minute on two cores), whose other domain stands for another kind of endoscope.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from sklearn.metrics import roc_auc_score

import endotransfer
from endotransfer.cli.demo import demo_experiment
from endotransfer.config import read_experiment
from endotransfer.data.phantom.write import write_phantom
from endotransfer.data.read.read_image import read_image
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.run import train
from endotransfer.methods.task import Needs
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.inputs import list_inputs

Picture = NDArray[np.uint8]
MOST, MOST_TESTS = 120, 300  # images of a kind; of the target's own
SIDE = 256  # of what is drawn
BLUR = 0.03  # standard deviation, of the shorter side: nothing finer than a finger is left of a polyp
ALARMS, AUROC = 0.05, {"street photographs": 0.95, "black frames": 0.95, "another endoscope": 0.85}  # the bounds


class KindResult(NamedTuple):
    name: str
    images: int
    auroc: float
    alarms: float  # share that is flagged
    reason: str  # the commonest

    def line(self) -> str:
        bound = f">= {AUROC[self.name]:.2f}" if self.name in AUROC else ""
        return (
            f"| {self.name} | {self.images} | {self.auroc:.3f} | {bound} | {100 * self.alarms:.0f} % | {self.reason} |"
        )


def judged(predictor: ImagePredictor, pictures: Iterator[Picture]) -> tuple[NDArray[np.float64], list[str]]:
    """Score of each picture, and the reasons of those that are flagged."""
    found = [predictor.predict(picture).unfamiliarity for picture in pictures]
    assert all(one is not None for one in found), "this model has no familiarity.safetensors: train it again"
    known = [one for one in found if one is not None]
    return np.array([one.score for one in known]), [one.reason for one in known if one.reason]


def spread(files: list[Path], most: int) -> list[Path]:
    return [files[place] for place in np.unique(np.linspace(0, len(files) - 1, min(most, len(files))).astype(int))]


def read_all(files: list[Path]) -> Iterator[Picture]:
    yield from map(read_image, spread(files, MOST))


def in_folder(folder: Path) -> Iterator[Picture]:
    return read_all(images_of(folder))


def changed(files: list[Path], change: Callable[[Picture], Picture]) -> Iterator[Picture]:
    return map(change, read_all(files))


def blurred(picture: Picture) -> Picture:
    return np.asarray(
        Image.fromarray(picture).filter(ImageFilter.GaussianBlur(BLUR * min(picture.shape[:2]))), np.uint8
    )


def lit(picture: Picture, factor: float, more: float = 0.0) -> Picture:
    changed: Picture = np.clip(picture * factor + more, 0, 255).astype(np.uint8)
    return changed


def black_frames(draw: np.random.Generator) -> Iterator[Picture]:
    """From black to a sensor's noise in the dark."""
    for noise in np.linspace(0, 6, 40):
        yield np.clip(draw.normal(0, noise, (SIDE, SIDE, 3)), 0, 255).astype(np.uint8)


def noise_frames(draw: np.random.Generator) -> Iterator[Picture]:
    for _ in range(20):
        yield draw.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
        yield np.clip(draw.normal(128, 40, (SIDE, SIDE, 1)), 0, 255).astype(np.uint8).repeat(3, 2)


def parts_of(names: tuple[str, ...], draw: np.random.Generator, each: int) -> Iterator[Picture]:
    """Random square parts of pictures that come with scikit-image."""
    from skimage import data

    for name in names:
        whole = np.asarray(getattr(data, name)())
        whole = whole if whole.ndim == 3 else np.stack([whole] * 3, -1)
        for _ in range(each):
            side = int(draw.integers(min(whole.shape[:2]) // 2, min(whole.shape[:2]) + 1))
            top, left = (int(draw.integers(0, length - side + 1)) for length in whole.shape[:2])
            yield np.ascontiguousarray(whole[top : top + side, left : left + side, :3])


def slices(draw: np.random.Generator) -> Iterator[Picture]:
    """A drawn slice of a head as a CT shows it, turned and lit anew."""
    from skimage import data

    drawn = data.shepp_logan_phantom()  # type: ignore[no-untyped-call]
    head = Image.fromarray((255 * np.asarray(drawn)).astype(np.uint8))
    for _ in range(30):
        turned = np.asarray(head.rotate(float(draw.uniform(0, 360))), dtype=np.float64) * draw.uniform(0.6, 1)
        yield np.stack([turned.astype(np.uint8)] * 3, -1)


def kinds(
    tests: list[Path], street: Path | None, endoscopy: Path | None, draw: np.random.Generator
) -> Iterator[tuple[str, Iterator[Picture]]]:
    if street is not None:
        yield "street photographs", in_folder(street)
    yield "black frames", black_frames(draw)
    if endoscopy is not None:
        yield "another endoscope", in_folder(endoscopy)
    yield "heavy blur", changed(tests, blurred)
    yield "underexposed to an eighth", changed(tests, lambda picture: lit(picture, 0.125))
    yield "overexposed", changed(tests, lambda picture: lit(picture, 2.5, 60))
    yield "other photographs", parts_of(("astronaut", "cat", "coffee", "rocket"), draw, 10)
    yield "text and grey pictures", parts_of(("page", "text", "camera", "moon", "coins"), draw, 8)
    yield "CT-like slices", slices(draw)
    yield "noise", noise_frames(draw)


def images_of(folder: Path) -> list[Path]:
    return [one.file for one in list_inputs([folder], videos=False)]


def test_images(run: Path) -> list[Path]:
    return [sample.image for sample in load_data(read_experiment(run / "config.yaml").data, Needs()).test]


def measure(
    run: Path, own_images: Path | None, street: Path | None, endoscopy: Path | None, seed: int
) -> tuple[float, list[KindResult]]:
    """Share of the model's own images that are flagged, and every kind against them."""
    predictor, draw = endotransfer.load(run, "cpu"), np.random.default_rng(seed)
    tests, results = test_images(run) if own_images is None else images_of(own_images), []
    own, _ = judged(predictor, map(read_image, spread(tests, MOST_TESTS)))
    for name, pictures in kinds(tests, street, endoscopy, draw):
        scores, reasons = judged(predictor, pictures)
        truth = np.r_[np.zeros(len(own)), np.ones(len(scores))]
        commonest = max(sorted(set(reasons)), key=reasons.count, default="")
        auroc = float(roc_auc_score(truth, np.r_[own, scores]))
        results.append(KindResult(name, len(scores), auroc, float((scores > 1).mean()), commonest))
    return float((own > 1).mean()), results


def phantom_run(folder: Path, seed: int) -> Path:
    write_phantom(folder / "phantom", images=240, seed=0, size=64)
    train(demo_experiment(folder / "phantom", "tag_transfer", "default", seed), folder / "run")
    return folder / "run"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--own", type=Path)
    parser.add_argument("--street", type=Path)
    parser.add_argument("--endoscopy", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        run, endoscopy = asked.run, asked.endoscopy
        if run is None:
            run, endoscopy = phantom_run(Path(name), asked.seed), Path(name) / "phantom" / "gastroscopy" / "images"
        alarms, results = measure(run, asked.own, asked.street, endoscopy, asked.seed)
    print(f"false alarms on the model's own images: {100 * alarms:.1f} % (bound {100 * ALARMS:.0f} %)\n")
    print("| kind | images | AUROC | bound | flagged | commonest reason |\n|---|---:|---:|---:|---:|---|")
    print(*(one.line() for one in results), sep="\n")


if __name__ == "__main__":
    main()
