"""The demo: four systems on the embedded phantom, a table, and pictures.  Also the smallest complete experiment."""

import shlex
import sys
import time
from pathlib import Path

from rich.console import Console

from endotransfer.config import Experiment, experiment_from
from endotransfer.data.phantom.draw_once import draw_once, unfinished_phantom
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.engine.run import train
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import ConfigError
from endotransfer.io import write_atomically
from endotransfer.results import Results

PHANTOM = {
    "images": 240,
    "seed": 0,
    "size": 64,
}  # of each domain; left alone since before the first adaptation run
SYSTEMS = (
    ("source_only", "default"),
    ("semantic_transfer", "paper"),
    ("tag_transfer", "default"),
    ("target_supervised", "default"),
)


def demo_experiment(data: Path, method: str, preset: str, seed: int) -> Experiment:
    """What the demo trains: a network small enough for two cores, one schedule for all systems."""
    return experiment_from(
        {
            "name": "phantom demo",
            "seed": seed,
            "data": {
                "source": str((data / "gastroscopy").resolve()),
                "target": str((data / "capsule").resolve()),
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
                "loggers": [],
            },
        }
    )


def run_demo(out: Path, *, seed: int = 0, force: bool = False, console: Console | None = None) -> list[Results]:
    """Generate, train, evaluate, print, draw.  A stopped demo goes on where it was."""
    from endotransfer.report.tables import as_markdown, print_results

    console = console or Console()
    began = time.perf_counter()
    data = out / "phantom"
    # Before anything is drawn: a seed that cannot be leaves nothing behind.
    systems = {
        f"{method}-{preset}-seed{seed}": demo_experiment(data, method, preset, seed) for method, preset in SYSTEMS
    }
    _refuse_foreign(out)
    draw_once(
        data, images=PHANTOM["images"], seed=PHANTOM["seed"], size=PHANTOM["size"],
        say=lambda line: console.print(line, markup=False, soft_wrap=True),
    )  # fmt: skip
    results = [_one(experiment, out / name, console, force=force) for name, experiment in systems.items()]
    print_results(results, console, title=f"The phantom's target, {results[0].images} test images, per cent")
    write_atomically(out / "table.md", as_markdown(results), ConfigError)
    sheet = _draw_sheet(out, data, seed)
    console.print(f"pictures: {sheet}\ntable:    {out / 'table.md'}", markup=False, soft_wrap=True)
    console.print(
        f"took {time.perf_counter() - began:.0f} s.  {DISCLAIMER}\nlook at it: {viewer_command(out, seed)}",
        markup=False,
        soft_wrap=True,
    )
    return results


def viewer_command(out: Path, seed: int) -> str:
    """What to type to see the demo's predictions in the browser, ours beside training on the source alone."""
    program = sys.argv[0] if Path(sys.argv[0]).name == "endotransfer" else "endotransfer"
    runs = [out / f"tag_transfer-default-seed{seed}", out / f"source_only-default-seed{seed}"]
    return shlex.join([program, "serve", *map(str, runs), "--images", str(out / "phantom" / "capsule")])


def _refuse_foreign(out: Path) -> None:
    """The demo writes table.md and predictions.png, but only into a folder that is new, empty or its own."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; give the demo a folder of its own with --out.")
    own = (out / "phantom").is_dir() or unfinished_phantom(out / "phantom").is_dir()
    if out.exists() and any(out.iterdir()) and not own:
        raise ConfigError(f"{out} is not empty and holds no demo; choose another --out, nothing is overwritten.")


def _one(experiment: Experiment, out: Path, console: Console, *, force: bool) -> Results:
    """One system; a finished run is not repeated, unless `force` asks for it."""
    run = RunFolder(out)
    finished = None if force else Results.read_if_whole(run.results)
    if finished is not None:
        return finished
    resume = not force and any(run.checkpoints.glob("step-*"))
    if resume:
        run.results.unlink(missing_ok=True)  # damaged, or it would have been returned
    console.print(f"training {experiment.method['name']} ({experiment.method['preset']})", markup=False, soft_wrap=True)
    # `force` replaces a run: one that the demo itself began in its own folder, and that has nothing to go on from or
    # is to be trained anew.  `_refuse_foreign` has seen to it that the folder is the demo's.
    results = train(experiment, out, resume=resume, force=not resume, console=console)
    if results is None:
        raise ConfigError(f"the demo was stopped; `endotransfer demo --out {out.parent}` goes on.")
    return results


def _draw_sheet(out: Path, data: Path, seed: int) -> Path:
    from endotransfer.data.folders.read_folder import read_folder
    from endotransfer.predict.predictor import load
    from endotransfer.report.prediction_sheet import prediction_sheet

    folder = read_folder(data / "capsule", split="test")
    lesions = {sample.finding: sample for sample in folder.samples}  # one of each kind, and one normal
    predictors = {
        method if preset == "default" else f"{method} {preset}": load(out / f"{method}-{preset}-seed{seed}")
        for method, preset in SYSTEMS
    }
    sheet = out / "predictions.png"
    prediction_sheet(sheet, list(lesions.values()), folder.classes, predictors)
    return sheet
