"""The demo: four systems on the embedded phantom, a table, and pictures.  Also the smallest complete experiment."""

import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from endotransfer.config import Experiment
from endotransfer.data.phantom import write_phantom
from endotransfer.engine.run import train
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import ConfigError
from endotransfer.experiment_file import experiment_from
from endotransfer.files import write_atomically

PHANTOM = {
    "images": 240,
    "seed": 0,
    "size": 64,
}  # of each domain; left alone since before the first adaptation run
SYSTEMS = (
    ("source_only", "default"),
    ("semantic_transfer", "paper"),
    ("semantic_transfer", "robust"),
    ("target_supervised", "default"),
)


def demo_experiment(data: Path, method: str, preset: str, seed: int) -> Experiment:
    """What the demo trains: a network small enough for two cores, one schedule for all systems."""
    return experiment_from(
        {
            "name": "phantom demo",
            "seed": seed,
            "data": {
                "source": str(data / "gastroscopy"),
                "target": str(data / "capsule"),
                "size": PHANTOM["size"],
            },
            "model": {
                "backbone": "test_resnet",
                "pretrained": False,
                "norm": "group",
                "multi_grid": None,
                "aspp_rates": [2, 4, 6],
                "aspp_channels": 64,
                "dropout": 0.0,
            },
            "method": {"name": method, "preset": preset},
            "training": {
                "epochs": 10,
                "steps_per_epoch": 40,
                "batch_source": 8,
                "batch_target": 8,
                "optimiser": "adamw",
                "lr": 0.002,
                "weight_decay": 0.01,
                "schedule": "poly",
                "workers": 0,
                "augment": {"colour": 0.1},
                "tensorboard": False,
            },
        }
    )


def run_demo(out: Path, *, seed: int = 0, force: bool = False, console: Console | None = None) -> list[dict[str, Any]]:
    """Generate, train, evaluate, print, draw.  A stopped demo goes on where it was."""
    from endotransfer.report.tables import as_markdown, print_results

    console = console or Console()
    began = time.perf_counter()
    data = _phantom(out, console)
    results = []
    for method, preset in SYSTEMS:
        experiment = demo_experiment(data, method, preset, seed)
        results.append(_one(experiment, out / f"{method}-{preset}-seed{seed}", console, force=force))
    print_results(results, console, title=f"The phantom's target, {results[0]['images']} test images, per cent")
    write_atomically(out / "table.md", as_markdown(results), ConfigError)
    sheet = _draw(out, data, seed)
    console.print(f"pictures: {sheet}\ntable:    {out / 'table.md'}", markup=False)
    console.print(f"took {time.perf_counter() - began:.0f} s.  Research use only, not a medical device.", markup=False)
    return results


def _phantom(out: Path, console: Console) -> Path:
    data = out / "phantom"
    if not data.exists():
        out.mkdir(parents=True, exist_ok=True)
        console.print(f"drawing {PHANTOM['images']} images of each domain into {data}", markup=False)
        write_phantom(data, PHANTOM["images"], PHANTOM["seed"], size=PHANTOM["size"])
    return data


def _one(experiment: Experiment, out: Path, console: Console, *, force: bool) -> dict[str, Any]:
    """One system; a finished run is not repeated, unless `force` asks for it."""
    run = RunFolder(out)
    if run.results.exists() and not force:
        return json.loads(run.results.read_text())
    began_before = run.checkpoints.exists() and not force
    console.print(f"training {experiment.method['name']} ({experiment.method['preset']})", markup=False)
    results = train(experiment, out, resume=began_before, force=not began_before, console=console)
    if results is None:
        raise ConfigError(f"the demo was stopped; `endotransfer demo --out {out.parent}` goes on.")
    return results


def _draw(out: Path, data: Path, seed: int) -> Path:
    from endotransfer.data.layout import read_folder
    from endotransfer.predict.predictor import load
    from endotransfer.report.pictures import prediction_sheet

    folder = read_folder(data / "capsule", split="test")
    lesions = {sample.finding: sample for sample in folder.samples}  # one of each kind, and one normal
    predictors = {
        method if preset == "default" else f"{method} {preset}": load(out / f"{method}-{preset}-seed{seed}")
        for method, preset in SYSTEMS
    }
    sheet = out / "predictions.png"
    prediction_sheet(sheet, list(lesions.values()), folder.classes, predictors)
    return sheet
