"""From an experiment to a run folder: read the data, train, save the model, measure it."""

import datetime
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from rich.console import Console

from endotransfer import __version__
from endotransfer.config import Experiment, FolderConfig, TrainingConfig
from endotransfer.data.checked import check_masks
from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.evaluation import evaluate_samples
from endotransfer.engine.feeding import prepare_feeding
from endotransfer.engine.maps import MapStore
from endotransfer.engine.material import Material, gather, read_role
from endotransfer.engine.model_folder import load_model, save_model
from endotransfer.engine.resuming import check_same_experiment
from endotransfer.engine.run_folder import RunFolder, open_run
from endotransfer.engine.trainer import Stopped, Trainer
from endotransfer.errors import ConfigError, DataError
from endotransfer.experiment_file import as_yaml
from endotransfer.files import write_atomically
from endotransfer.methods import Method, World, method_config

PRECISIONS = {"32": "32-true", "bf16": "bf16-mixed", "64": "64-true"}


def train(
    experiment: Experiment,
    out: Path,
    *,
    resume: bool = False,
    force: bool = False,
    console: Console | None = None,
) -> dict[str, Any] | None:
    """Train and evaluate; returns what results.json holds, or None where the run was asked to stop early."""
    console = console or Console()
    cls, preset, config = method_config(experiment.method)
    settings = {"name": cls.name, "preset": preset, **config.model_dump(mode="json")}
    experiment = experiment.model_copy(update={"method": settings})
    material = gather(experiment.data, cls.needs)
    keep = experiment.data.contradictions == "keep"
    test_notes = check_masks(material.test, material.classes, keep_contradictions=keep)  # now, not after hours
    fabric = start_fabric(experiment.training)
    torch.manual_seed(experiment.seed)  # the same first weights in every process
    world = World(len(material.classes), material.tags, experiment.model, experiment.training.epochs)
    method = cls(world, config)  # before the run folder: an experiment that cannot be built leaves none behind
    run = _open(fabric, experiment, out, resume=resume, force=force)
    feeding = prepare_feeding(
        experiment,
        material,
        cls.needs,
        MapStore(run.maps).read,
        fabric.global_rank,
        fabric.world_size,
        console,
    )
    trainer = Trainer(
        fabric, method, experiment.training, experiment.seed, feeding.feed, feeding.steps_per_epoch,
        feeding.pass_set, run, console,
    )  # fmt: skip
    notes = dict(feeding.notes + test_notes)
    if fabric.is_global_zero:
        _say_notes(console, notes, method)
    if resume:
        _restore(trainer, run, console)
    began = time.perf_counter()
    try:
        trainer.fit()
    except Stopped as stopped:
        console.print(str(stopped))
        return None
    finally:
        feeding.feed.close()
    if not fabric.is_global_zero:
        return None
    cost = _cost(trainer, time.perf_counter() - began, experiment.training)
    return _finish(experiment, material, method, trainer, run, cost, notes)


def evaluate(
    run: Path,
    folders: Sequence[Path],
    *,
    split: str | None = None,
    out: Path | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Measure the model of `run` on the images of `folders`."""
    if out is not None and out.exists():
        raise ConfigError(f"{out} exists already; choose another --out.")
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    model = load_model(run, where)
    domain = read_role([FolderConfig(path=folder, split=split) for folder in folders], None)
    assert domain is not None
    if len(domain.classes) != len(model.classes):
        raise DataError(
            f"the data have the classes {list(domain.classes.names)} but the model knows {list(model.classes.names)}; "
            "evaluate it on data with its own classes."
        )
    scores, evidence = evaluate_samples(
        model,
        domain.samples,
        domain.classes,
        model.shape,
        where,
        lesions=model.info["tags"] or domain.classes.binary,
    )
    results = _results(
        model.info["method"], model.info.get("seed", 0), domain.classes.names, scores.summary(), evidence
    )
    if out is not None:
        write_atomically(out, json.dumps(results, indent=2), ConfigError)
    return results


def start_fabric(training: TrainingConfig) -> Fabric:
    """Devices, processes and precision.  Gradients are averaged by the engine itself, so modules are never wrapped."""
    if training.accelerator == "cuda" and not torch.cuda.is_available():
        raise ConfigError("training.accelerator is cuda but no GPU is there; set it to auto or cpu.")
    several = training.devices * training.nodes > 1
    fabric = Fabric(
        accelerator="gpu" if training.accelerator == "cuda" else training.accelerator, devices=training.devices,
        num_nodes=training.nodes, strategy="ddp" if several else "auto", precision=PRECISIONS[training.precision],
    )  # fmt: skip
    fabric.launch()
    return fabric


def _open(fabric: Fabric, experiment: Experiment, out: Path, *, resume: bool, force: bool) -> RunFolder:
    """Only the first process touches the folder; the experiment of a resumed run must be the one it began with."""
    run = RunFolder(out)
    if fabric.is_global_zero:
        run = open_run(out, resume=resume, force=force)
        if resume:
            check_same_experiment(run, experiment)
        else:
            write_atomically(run.config, as_yaml(experiment), ConfigError)
    fabric.barrier()
    return run


def _restore(trainer: Trainer, run: RunFolder, console: Console) -> None:
    checkpoint, warnings = load_latest(run.checkpoints)
    for warning in warnings:
        console.print(f"warning: {warning}", markup=False)
    trainer.restore(checkpoint)


def _finish(
    experiment: Experiment, material: Material, method: Method, trainer: Trainer, run: RunFolder,
    cost: dict[str, Any], notes: dict[str, int],
) -> dict[str, Any]:  # fmt: skip
    """Measure the last checkpoint (the one that counts), then write scores, model and results."""
    method.eval()
    predictor, student = method.predictor(), method.segmenter
    fabric, domain = trainer.fabric, method.predict_as

    def predicting(module: torch.nn.Module) -> Any:
        def predict(images: torch.Tensor) -> Any:
            with fabric.autocast():
                return module(images, domain=domain)

        return predict

    scores, evidence = evaluate_samples(
        predicting(predictor), material.test, material.classes, experiment.data.shape, fabric.device,
        batch=experiment.evaluation.batch, dtype=trainer.dtype, lesions=material.tags or material.classes.binary,
        student=predicting(student) if predictor is not student else None,
    )  # fmt: skip
    figures = scores.summary(experiment.evaluation.resamples)
    results = _results(experiment.method, experiment.seed, material.classes.names, figures, evidence)
    results |= {"name": experiment.name, "cost": cost, "conversions": notes}
    counts = {
        "source with mask": len(material.masked),
        "source with tag only": len(material.tagged),
        "target (no mask read)": len(material.target),
        "test": len(material.test),
    }
    save_model(run.model, method, material.classes, experiment.data.shape, experiment.method, results, counts)
    write_atomically(run.path / "scores.json", json.dumps(scores.rows()), ConfigError)
    write_atomically(run.results, json.dumps(results, indent=2), ConfigError)
    return results


def _results(
    settings: dict[str, Any],
    seed: int,
    classes: Sequence[str],
    figures: dict[str, Any],
    evidence: dict[str, Any],
) -> dict[str, Any]:
    head = {
        "method": settings["name"],
        "preset": settings.get("preset", "default"),
        "seed": seed,
        "classes": list(classes),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": __version__,
    }
    return {**head, **figures, **evidence}


def _cost(trainer: Trainer, seconds: float, training: TrainingConfig) -> dict[str, Any]:
    images = trainer.steps * training.accumulate * (training.batch_source + training.batch_target)
    cost: dict[str, Any] = {
        "seconds": round(seconds, 2),
        "steps": trainer.steps,
        "images_per_second": round(images / seconds, 1) if seconds else None,
        "device": platform.processor() or platform.machine(),
        "processes": trainer.fabric.world_size,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
    }
    if trainer.fabric.device.type == "cuda":  # pragma: needs cuda
        cost["device"] = torch.cuda.get_device_name()
        cost["gpu_memory_gb"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
    return cost


def _say_notes(console: Console, notes: dict[str, int], method: Method) -> None:
    for note in getattr(method.segmenter, "notes", []):
        console.print(f"note: {note}", markup=False)
    for note, count in notes.items():
        console.print(f"note: {note} ({count} files)", markup=False)
