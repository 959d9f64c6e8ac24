"""The review loop on the phantom: ten target masks corrected by a person, and training again, against not doing so.

The person is played by the phantom's own truth: ten training images tagged lesion, drawn at random, get their true mask
under `reviewed/`.  Run from the root of the repository: `python -m perf.review_loop` (some minutes on two cores).
"""

import argparse
import json
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from rich.console import Console

from endotransfer import __version__
from endotransfer.cli.demo import PHANTOM, demo_experiment
from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.folders.review_record import Review
from endotransfer.data.folders.reviewed import write_review
from endotransfer.data.phantom import write_phantom
from endotransfer.engine.run import train

IMAGES = 10


def correct_some(capsule: Path, seed: int) -> list[str]:
    """Give `IMAGES` training images of the folder a reviewed mask; returns their names."""
    training = [sample for sample in read_folder(capsule, split="train").samples if sample.tag == 1]
    names = []
    for sample in random.Random(seed).sample(training, IMAGES):
        mask = (np.asarray(Image.open(capsule / "masks" / f"{sample.image.stem}.png")) > 0).astype(np.uint8)
        review = Review("corrected", "the phantom's truth", "2026-01-01T00:00:00Z", None, __version__)
        write_review(capsule, sample.image.stem, review, mask)
        names.append(sample.image.stem)
    return names


def miou_of(data: Path, out: Path, method: str, preset: str, seed: int, *, reviewed: bool) -> float:
    experiment = demo_experiment(data, method, preset, seed)
    settings = experiment.data.model_copy(update={"reviewed": "use" if reviewed else "ignore"})
    results = train(experiment.model_copy(update={"data": settings}), out, console=Console(quiet=True))
    assert results is not None
    return float(results["miou"])


def main(method: str, preset: str, seeds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "phantom"
        write_phantom(data, PHANTOM["images"], PHANTOM["seed"], size=PHANTOM["size"])
        for seed in range(seeds):
            names = correct_some(data / "capsule", seed)
            runs = {
                kind: miou_of(data, folder / f"{kind}-{seed}", method, preset, seed, reviewed=kind == "reviewed")
                for kind in ("alone", "reviewed")
            }
            line = {"method": method, "preset": preset, "seed": seed, **runs, "gain": runs["reviewed"] - runs["alone"]}
            print(json.dumps({**line, "images": names}), flush=True)
            shutil.rmtree(data / "capsule" / "reviewed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", default="tag_transfer")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    main(asked.method, asked.preset, asked.seeds)
