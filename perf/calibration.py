"""`python -m perf.calibration [RUN ...]`: how far probabilities hold before and after their temperature.

RUN: finished runs, or a benchmark's folder, whose runs are taken.  Only a source folder that gives one of its splits to
training leaves masks to fit a temperature to, for example

    endotransfer benchmark capsule --out runs/calibration --seeds 3 --only tag_transfer \\
        --set 'data.source=[{path: data/edd2020, split: train}, {path: data/hyperkvasir-normal, split: train}]'
    python -m perf.calibration runs/calibration

Without RUN `tag_transfer` and `source_only` are trained on the phantom, three seeds each: minutes on two cores.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from endotransfer.batch import SegOutput
from endotransfer.cli.demo import demo_experiment
from endotransfer.config import read_experiment
from endotransfer.data.phantom.write import write_phantom
from endotransfer.engine.choose_device import choose_device
from endotransfer.engine.evaluate import evaluate_samples
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.model_folder import load_model
from endotransfer.engine.run import train
from endotransfer.inference import with_temperature
from endotransfer.methods import METHODS
from endotransfer.metrics.pixel_calibration import CalibrationSummary

SEEDS = 3


class RunCalibration(NamedTuple):
    system: str
    seed: int
    temperature: float
    before: CalibrationSummary
    after: CalibrationSummary


def measure(run: Path, device: torch.device) -> RunCalibration:
    """The same network on the same test images, with its logits as they are and divided by its temperature."""
    model, experiment = load_model(run, device), read_experiment(run / "config.yaml")
    data = load_data(experiment.data, METHODS.get(str(experiment.method["name"])).needs)

    def calibration(temperature: float) -> CalibrationSummary:
        def forward(images: torch.Tensor) -> SegOutput:
            return with_temperature(model.module(images, domain=model.domain), temperature)

        _, found = evaluate_samples(forward, data.test, data.test_classes, model.geometry, device, lesions=True)
        return CalibrationSummary.model_validate(found["calibration"])

    fitted = model.info.temperature
    before = calibration(1.0)
    name = str(model.info.method.name)
    return RunCalibration(name, model.info.seed, fitted, before, before if fitted == 1 else calibration(fitted))


def phantom_runs(folder: Path) -> Iterator[Path]:
    """Trained on the split `train` of the source, so that the masks of its split `test` are left to fit to."""
    write_phantom(folder / "phantom", images=240, seed=0, size=64)
    for method in ("tag_transfer", "source_only"):
        for seed in range(SEEDS):
            experiment = demo_experiment(folder / "phantom", method, "default", seed)
            source = tuple(part.model_copy(update={"split": "train"}) for part in experiment.data.source)
            divided = experiment.model_copy(update={"data": experiment.data.model_copy(update={"source": source})})
            train(divided, folder / f"{method}-{seed}")
            yield folder / f"{method}-{seed}"


def found_runs(folders: list[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from (
            [folder]
            if (folder / "results.json").is_file() and (folder / "model").is_dir()
            else sorted(path.parent for path in folder.rglob("model/") if (path.parent / "results.json").is_file())
        )


def print_table(measured: list[RunCalibration]) -> None:
    print("| system | seeds | temperature | ECE before | after | ECE where lesion is probable, before | after |")
    print("|---|---|---|---:|---:|---:|---:|")
    for system in dict.fromkeys(one.system for one in measured):
        rows = [one for one in measured if one.system == system]
        cells = [
            ", ".join(str(one.seed) for one in rows),
            ", ".join(f"{one.temperature:.2f}" for one in rows),
            *(_spread(getattr(getattr(one, when), figure) for one in rows)
              for figure in ("ece", "ece_lesion") for when in ("before", "after")),
        ]  # fmt: skip
        print(f"| {system} | {' | '.join(cells)} |", flush=True)


def _spread(values: Iterator[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    return f"{np.mean(known):.2f} ± {np.std(known, ddof=1):.2f}" if len(known) > 1 else f"{known[0]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        runs = found_runs(asked.runs) if asked.runs else phantom_runs(Path(name))
        print_table([measure(run, choose_device(None)) for run in runs])


if __name__ == "__main__":
    main()
