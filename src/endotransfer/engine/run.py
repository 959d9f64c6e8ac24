"""From an experiment to a run folder: read the data, train, save the model, measure it."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from rich.console import Console

from endotransfer.config import Experiment, as_yaml
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.distributed import naming_lost_processes
from endotransfer.engine.callbacks import Callback
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.checkpoint.manifest import NewerFormatError
from endotransfer.engine.data_record import DataRecord
from endotransfer.engine.experiment_data import ExperimentData, load_data
from endotransfer.engine.first_process import in_first_process
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.measure_run import evaluate, finish
from endotransfer.engine.resuming import check_same_experiment
from endotransfer.engine.run_cost import run_cost
from endotransfer.engine.run_folder import RunFolder, open_run
from endotransfer.engine.run_lock import RunLock
from endotransfer.engine.start_fabric import start_fabric
from endotransfer.engine.start_model import as_its_start, load_start
from endotransfer.engine.tag_kinds import missing_tags
from endotransfer.engine.trackers import Ending, Trackers, chosen_trackers
from endotransfer.engine.trainer import Stopped, Trainer
from endotransfer.engine.training_data import load_training_data
from endotransfer.errors import ConfigError, EndotransferError
from endotransfer.io import write_atomically
from endotransfer.methods import Method, method_config
from endotransfer.methods.resolve import check_needs, resolved, task_info
from endotransfer.models.network_spec import spec_of
from endotransfer.results import Results

__all__ = ["evaluate", "train"]


def train(
    experiment: Experiment,
    out: Path | str,
    *,
    resume: bool = False,
    force: bool = False,
    console: Console | None = None,
    callbacks: Sequence[Callback] = (),
    decode_cache: DecodeCache | None = None,
    save_last: bool = True,
) -> Results | None:
    """Train and evaluate; returns what results.json holds, or None where the run was asked to stop early.

    The run folder is touched last: an experiment that cannot be built, or data that cannot be read, leaves no new
    folder behind and, with `force`, the old run in place.  `decode_cache`: shared with other runs of this process.
    `save_last`: whether the end is a checkpoint too, from which a run that is killed while it measures goes on.
    """
    decode_cache = decode_cache or DecodeCache(most_sets=0)
    console = console or Console()
    cls, _, config = method_config(experiment.method)
    experiment = resolved(as_its_start(experiment))
    check_needs(cls, experiment.model)
    chosen = chosen_trackers(experiment.training.loggers)

    experiment_data = load_data(experiment.data, cls.needs, normals=experiment.training.batch_normals > 0)
    notes = _notes_on_test_masks(experiment, experiment_data, decode_cache) + experiment_data.notes
    fabric = start_fabric(experiment.training)
    torch.manual_seed(experiment.seed)  # the same first weights in every process
    task = task_info(experiment, len(experiment_data.classes), experiment_data.tags)
    method = cls(task, config)
    start_notes = load_start(method, experiment.model.start_from)
    spec_of(method.predictor(), f"method {cls.name}")  # without one the trained model could not be loaded again
    run = RunFolder(Path(out))
    record, lock = DataRecord(experiment_data, run.path), RunLock(run.path)
    training_data = load_training_data(
        experiment, experiment_data, method.needs, MapStore(run.maps, task.classes).read, console=console,
        rank=fabric.global_rank, world_size=fabric.world_size, device=fabric.device, decode_cache=decode_cache,
    )  # fmt: skip
    notes = training_data.notes + notes + start_notes
    in_first_process(fabric, lambda: _open(run, experiment, lock, resume=resume, force=force))
    try:
        trainer = Trainer(
            fabric, method, experiment.training, experiment.seed, training_data, run, console, record, callbacks,
            save_last=save_last, trackers=Trackers(chosen, experiment, run.path) if chosen else None,
        )  # fmt: skip
        with naming_lost_processes():
            return _train(trainer, experiment, experiment_data, notes, decode_cache, resume=resume)
    finally:
        lock.release()


def _train(
    trainer: Trainer, experiment: Experiment, experiment_data: ExperimentData, notes: Counter[str],
    decode_cache: DecodeCache, *, resume: bool,
) -> Results | None:  # fmt: skip
    """Train and measure; whatever happens, the log is told how it ended."""
    ending: Ending = "failed"
    try:
        results = _fit_and_measure(trainer, experiment, experiment_data, notes, decode_cache, resume=resume)
        ending = "finished" if results else "stopped"
        return results
    finally:
        trainer.log.close(ending)


def _fit_and_measure(
    trainer: Trainer, experiment: Experiment, experiment_data: ExperimentData, notes: Counter[str],
    decode_cache: DecodeCache, *, resume: bool,
) -> Results | None:  # fmt: skip
    """Train from where the run is, then measure."""
    fabric, run, console, method = trainer.fabric, trainer.run, trainer.console, trainer.method
    if fabric.is_global_zero:
        _say_notes(console, notes, method, experiment_data)
        for sentence in missing_tags(experiment_data, method.name, asked=experiment.data.tags):
            console.print(f"caution: {sentence}", markup=False, soft_wrap=True)
    try:
        if resume:
            _restore(trainer, run, console)
            if trainer.step == trainer.steps and (results := Results.read_if_whole(run.results)):
                console.print(f"{run.path} is finished already; these are its results.", markup=False, soft_wrap=True)
                return results
        began, first = time.perf_counter(), trainer.step
        trainer.fit()
        cost = run_cost(trainer, first, time.perf_counter() - began)
    except Stopped as stopped:
        console.print(str(stopped), markup=False, soft_wrap=True)
        return None
    finally:
        trainer.data.batch_source.close()
    cost["conversions"] = dict(notes)
    writes = fabric.is_global_zero
    results = finish(
        run, experiment, experiment_data, method, fabric.device, cost, writes=writes, decode_cache=decode_cache
    )
    if results is not None:  # in the first process
        numbers = {name: number for name in results.figures if (number := results.figure(name)) is not None}
        trainer.log.write_results(trainer.step, numbers)
    return results


def _notes_on_test_masks(experiment: Experiment, data: ExperimentData, decode_cache: DecodeCache) -> Counter[str]:
    """Test masks are checked now, not after hours of training."""
    keep = experiment.data.contradictions == "keep"
    return decode_cache.mask_notes(data.test, data.test_classes, keep_contradictions=keep)


def _open(run: RunFolder, experiment: Experiment, lock: RunLock, *, resume: bool, force: bool) -> None:
    open_run(run.path, resume=resume, force=force, lock=lock)
    if resume and run.config.exists():
        check_same_experiment(run, experiment)
    else:
        write_atomically(run.config, as_yaml(experiment), ConfigError)


def _restore(trainer: Trainer, run: RunFolder, console: Console) -> None:
    if not list_steps(run.checkpoints):
        console.print(f"{run.path} has no checkpoint yet; starting from its beginning.", markup=False, soft_wrap=True)
        trainer.log.rewind(0)
        return
    try:
        checkpoint, warnings = load_latest(run.checkpoints, trainer.check_maps)
        for warning in warnings:
            console.print(f"warning: {warning}", markup=False, soft_wrap=True)
        trainer.restore(checkpoint)
    except EndotransferError as reason:
        reason.of_resuming = not isinstance(reason, NewerFormatError)  # which its own version can go on from
        raise


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
