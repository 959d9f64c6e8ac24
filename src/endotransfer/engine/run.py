"""From an experiment to a run folder: read the data, train, save the model, measure it."""

import hashlib
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric
from rich.console import Console

from endotransfer.config import Experiment, TrainingConfig, as_yaml
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.experiment_data import ExperimentData, load_data
from endotransfer.engine.first_process import in_first_process
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.measure_run import evaluate, finish
from endotransfer.engine.resuming import check_same_experiment
from endotransfer.engine.run_folder import RunFolder, open_run
from endotransfer.engine.trainer import Stopped, Trainer
from endotransfer.engine.training_data import prepare_feeding
from endotransfer.errors import ConfigError
from endotransfer.io import write_atomically
from endotransfer.methods import Method, TaskInfo, method_config
from endotransfer.methods.base import check_needs
from endotransfer.models.network_spec import spec_of
from endotransfer.results import Results

__all__ = ["evaluate", "start_fabric", "train"]

PRECISIONS = {"32": "32-true", "bf16": "bf16-mixed", "64": "64-true"}


def train(
    experiment: Experiment,
    out: Path | str,
    *,
    resume: bool = False,
    force: bool = False,
    console: Console | None = None,
    decode_cache: DecodeCache | None = None,
) -> Results | None:
    """Train and evaluate; returns what results.json holds, or None where the run was asked to stop early.

    The run folder is touched last: an experiment that cannot be built, or data that cannot be read, leaves no new
    folder behind and, with `force`, the old run in place.  `decode_cache`: shared with other runs of this process.
    """
    decode_cache = decode_cache or DecodeCache(most_sets=0)
    console = console or Console()
    cls, preset, config = method_config(experiment.method)
    settings = {"name": cls.name, "preset": preset, **config.model_dump(mode="json")}
    if (variant := experiment.method.get("variant")) is not None:
        settings["variant"] = variant
    experiment = experiment.model_copy(update={"method": settings})
    check_needs(cls, experiment.model)
    experiment_data = load_data(experiment.data, cls.needs)
    keep = experiment.data.contradictions == "keep"
    notes = decode_cache.mask_notes(
        experiment_data.test, experiment_data.test_classes, keep_contradictions=keep
    )  # now, not after hours
    notes += experiment_data.notes
    fabric = start_fabric(experiment.training)
    torch.manual_seed(experiment.seed)  # the same first weights in every process
    task = TaskInfo(len(experiment_data.classes), experiment_data.tags, experiment.model, experiment.training.epochs)
    method = cls(task, config)
    spec_of(method.predictor(), f"method {cls.name}")  # without one the trained model could not be loaded again
    run = RunFolder(Path(out))
    feeding = prepare_feeding(
        experiment,
        experiment_data,
        cls.needs,
        MapStore(run.maps).read,
        fabric.global_rank,
        fabric.world_size,
        console,
        fabric.device,
        decode_cache,
    )
    in_first_process(fabric, lambda: _open(run, experiment, resume=resume, force=force))
    trainer = Trainer(
        fabric, method, experiment.training, experiment.seed, feeding.feed, feeding.steps_per_epoch,
        feeding.pass_set, run, console, digest_of(experiment_data), feeding.masked,
    )  # fmt: skip
    if fabric.is_global_zero:
        _say_notes(console, feeding.notes + notes, method, experiment_data)
    try:
        if resume:
            _restore(trainer, run, console)
            if trainer.step == trainer.steps and (results := Results.read_if_whole(run.results)):
                console.print(f"{run.path} is finished already; these are its results.", markup=False, soft_wrap=True)
                return results
        began, first = time.perf_counter(), trainer.step
        trainer.fit()
        cost = _cost(trainer, first, time.perf_counter() - began, experiment.training)
    except Stopped as stopped:
        console.print(str(stopped), markup=False, soft_wrap=True)
        return None
    finally:
        feeding.feed.close()
        trainer.log.close()
    cost["conversions"] = dict(feeding.notes + notes)
    writes = fabric.is_global_zero
    return finish(run, experiment, experiment_data, method, fabric.device, cost, writes=writes)


def start_fabric(training: TrainingConfig) -> Fabric:
    """Devices, processes and precision.  Gradients are averaged by the engine itself, so modules are never wrapped."""
    if training.accelerator == "cuda" and not torch.cuda.is_available():
        raise ConfigError("training.accelerator is cuda but no GPU is there; set it to auto or cpu.")
    # Not "auto": Lightning would also take a Mac's GPU, which has no float64.
    cuda = torch.cuda.is_available() and training.accelerator != "cpu"
    if cuda and training.devices > torch.cuda.device_count():  # pragma: needs cuda
        raise ConfigError(f"training.devices is {training.devices} but there are {torch.cuda.device_count()} GPUs.")
    fabric = Fabric(
        accelerator="gpu" if cuda else "cpu", devices=training.devices, num_nodes=training.nodes,
        strategy="ddp" if training.devices * training.nodes > 1 else "auto", precision=PRECISIONS[training.precision],
    )  # fmt: skip
    fabric.launch()
    if cuda:  # pragma: needs cuda
        torch.cuda.reset_peak_memory_stats()  # several runs in one process: each has its own peak
    return fabric


def digest_of(experiment_data: ExperimentData) -> str:
    """Which images take part in which role: a run may not be resumed on others."""
    roles = [experiment_data.masked, experiment_data.tagged, experiment_data.target]
    roles += [experiment_data.reviewed] if experiment_data.reviewed else []  # others, and it is another experiment
    text = json.dumps([[sample.key for sample in role] for role in roles])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _open(run: RunFolder, experiment: Experiment, *, resume: bool, force: bool) -> None:
    open_run(run.path, resume=resume, force=force)
    if resume:
        check_same_experiment(run, experiment)
    else:
        write_atomically(run.config, as_yaml(experiment), ConfigError)


def _restore(trainer: Trainer, run: RunFolder, console: Console) -> None:
    if not list_steps(run.checkpoints):
        console.print(f"{run.path} has no checkpoint yet; starting from its beginning.", markup=False, soft_wrap=True)
        trainer.log.rewind(0)
        return
    checkpoint, warnings = load_latest(run.checkpoints)
    for warning in warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)
    trainer.restore(checkpoint)


def _cost(trainer: Trainer, first: int, seconds: float, training: TrainingConfig) -> dict[str, Any]:
    """What this sitting took: steps from `first` on, and the images that were really read in them."""
    steps = trainer.steps - first
    target = sum(max(0, epoch.last - max(first, epoch.first)) for epoch in trainer.plan if epoch.stage.target)
    images = training.accumulate * (steps * training.batch_source + target * training.batch_target)
    cost: dict[str, Any] = {
        "seconds": round(seconds, 2),
        "target_pass_seconds": round(trainer.sets.seconds, 2),
        "steps": steps,
        "images_per_second": round(images / seconds, 1) if steps else None,
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


def _say_notes(console: Console, notes: dict[str, int], method: Method, experiment_data: ExperimentData) -> None:
    for note in getattr(method.segmenter, "notes", []):
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    for note, count in notes.items():
        console.print(f"note: {note} ({count} files)", markup=False, soft_wrap=True)
    if experiment_data.unused:
        console.print(
            f"note: {experiment_data.unused} source images have neither mask nor tag and are not used",
            markup=False,
            soft_wrap=True,
        )
