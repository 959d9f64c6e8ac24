"""The only training loop.  A method says what is minimised; this says when, in which order, and what survives."""

import hashlib
import signal
from collections.abc import Iterator
from itertools import islice
from types import FrameType
from typing import Any

import torch
from lightning.fabric import Fabric
from rich.console import Console
from torch import Tensor, nn

from endotransfer.batch import Batch
from endotransfer.config import TrainingConfig
from endotransfer.data.pipeline.batch_source import BatchSource
from endotransfer.data.pipeline.decoded_images import DecodedImages
from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.data.pipeline.device_pass_set import DevicePassSet
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.data.pipeline.to_device import to_device
from endotransfer.distributed import sum_over_processes, world_size
from endotransfer.engine.checkpoint import Checkpoint, list_steps, load_weights_into, save_checkpoint
from endotransfer.engine.finite import stop_unless_finite
from endotransfer.engine.first_process import in_first_process
from endotransfer.engine.gradients import average_over_processes, clipped_norm
from endotransfer.engine.graphs import OFTEN, use_graphs
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.optimiser_state import pack_optimiser, unpack_optimiser
from endotransfer.engine.optimisers import build_optimisers, parameters_of, set_lr
from endotransfer.engine.plan import Epoch, lay_out
from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.run_log import EpochLines, RunLog, progress_bar
from endotransfer.engine.schedule import lr_factor
from endotransfer.engine.target_pass import TargetPasses
from endotransfer.errors import DataError, TrainingDiverged
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.methods.base import Memo, Method


class Stopped(Exception):  # noqa: N818  (not an error: the run was asked to leave, and can go on)
    """Training left early on request; everything up to this step is in a checkpoint."""

    def __init__(self, step: int, steps: int) -> None:
        super().__init__(f"stopped at step {step} of {steps}; go on with --resume.")


class Trainer:
    """Trains one method on one feed.  All state: the method, its optimisers, and the step."""

    def __init__(
        self, fabric: Fabric, method: Method, training: TrainingConfig, seed: int,
        feed: BatchSource | DeviceBatchSource, steps_per_epoch: int, pass_set: PassSet | DevicePassSet | None,
        run: RunFolder, console: Console, data_digest: str = "", masked: DecodedImages | None = None,
    ) -> None:  # fmt: skip
        self.fabric, self.method, self.training, self.seed = fabric, method, training, seed
        self.feed, self.run, self.console = feed, run, console
        self.data_digest = data_digest
        self.maps = MapStore(run.maps)
        self.plan = lay_out(method.stages(), steps_per_epoch)
        self.steps = self.plan[-1].last
        self.dtype = torch.float64 if training.precision == "64" else torch.float32
        method.to(fabric.device, self.dtype)
        phases = {phase for epoch in self.plan for phase in epoch.stage.phases}
        self.optimisers = build_optimisers(method, phases, training)
        self._parameters = _parameters_by_network(method)
        several = training.accumulate > 1  # then outputs of one batch outlive the forward of the next
        self.graphs = (
            None if several or not training.graphs else use_graphs(fabric, method.segmenter, method.task.model.norm)
        )
        self.step = 0
        self._stage = ""  # that graphs have been recorded for
        self.round: int | None = None  # of the stored maps that training reads; None: there are none
        self.log = RunLog(run.path if fabric.is_global_zero else None, tensorboard=training.tensorboard)
        self.sets = TargetPasses(fabric, method, training, feed, pass_set, masked, self.maps, console)
        self._asked_to_stop = False
        self._resumed_at: int | None = None

    def fit(self) -> None:
        """Train from wherever `self.step` is to the end of the plan."""
        with self._stop_on_signals(), progress_bar(self.console, shown=self.fabric.is_global_zero) as bar:
            task = bar.add_task("training", total=self.steps, completed=self.step, note="")
            lines = EpochLines(self.console, self.step, self.steps, shown=self.fabric.is_global_zero)
            note = ""
            if self.step == 0 and self._resumed_at is None:
                self.sets.prepare()
            for epoch in self.plan:
                if self.step >= epoch.last:
                    continue
                self._visit_target(epoch)
                self.method.train()
                for last in self._stretches(epoch):
                    if self.graphs is not None:
                        self.graphs.record()
                    for batches in self._batches(epoch, last):
                        note = self._train_step(batches, epoch)
                        bar.update(task, completed=self.step, description=epoch.stage.name, note=note)
                        self._save_if_due()
                lines.write(self.step, epoch.index, epoch.stage.name, note)

    # -- one step -----------------------------------------------------------------------------------------------

    def _stretches(self, epoch: Epoch) -> list[int]:
        """Where the rest of an epoch is interrupted, its end included: once graphs have seen what a stage asks for."""
        if self.graphs is None or self._stage == epoch.stage.name or self.step + OFTEN >= epoch.last:
            return [epoch.last]
        self._stage = epoch.stage.name
        return [self.step + OFTEN, epoch.last]

    def _batches(self, epoch: Epoch, last: int) -> Iterator[list[Batch]]:
        """The steps up to `last`: for each, the batches whose gradients make it."""
        several = self.training.accumulate
        feed = self.feed.batches(
            self.step * several, last * several, rank=self.fabric.global_rank, world_size=self.fabric.world_size,
            round=self.round, use_target=epoch.stage.target,
        )  # fmt: skip
        while batches := [to_device(batch, self.fabric.device, self.dtype) for batch in islice(feed, several)]:
            yield batches

    def _train_step(self, batches: list[Batch], epoch: Epoch) -> str:
        method = self.method
        method.progress = epoch.progress(self.step, self.steps)
        # Noise (dropout) is a function of the step, so a resumed run draws what the uninterrupted one drew.
        torch.manual_seed(self._seed_of(self.step))
        if self.graphs is not None:
            self.graphs.new_step()
        memos: list[Memo] = [{} for _ in batches]
        figures: dict[str, float] = {}
        for phase in epoch.stage.phases:
            if method.active(phase):
                figures |= self._train_phase(
                    phase, batches, memos, lr_factor(self.training, *epoch.scheduled(self.step))
                )
        method.after_step()
        self.step += 1
        if self.step % self.training.log_every == 0 or self.step == epoch.last:
            self.log.write(self.step, epoch.index, epoch.stage.name, figures)
        return ", ".join(f"loss {value:.3f}" for name, value in figures.items() if name == f"loss/{_main_phase(epoch)}")

    def _train_phase(self, phase: str, batches: list[Batch], memos: list[Memo], factor: float) -> dict[str, float]:
        """Backward and update of one phase; returns every term, its share of the sum, and the gradient's norm."""
        optimiser = self.optimisers[phase]
        set_lr(optimiser, factor)
        self._train_only(phase)
        optimiser.zero_grad(set_to_none=True)
        sums: dict[str, Tensor] = {}
        for batch, memo in zip(batches, memos, strict=True):
            with self.fabric.autocast():
                terms = self.method.losses(phase, batch, memo) | self._reviewed_term(phase, batch)
            total = torch.stack(list(terms.values())).sum() / len(batches)
            if total.requires_grad:
                self.fabric.backward(total)
            for name, value in terms.items():
                sums[name] = sums.get(name, 0) + value.detach() / len(batches)
        parameters = parameters_of(optimiser)
        average_over_processes(parameters)
        norm = clipped_norm(parameters, self.training.clip)
        values = torch.stack([*sums.values(), norm.to(self.dtype)])
        *terms_now, norm_now = (sum_over_processes(values) / world_size()).tolist()
        named = dict(zip(sums, terms_now, strict=True))
        keys = [
            key
            for batch in batches
            for part in (batch.source, batch.target, batch.reviewed)
            if part
            for key in part.keys
        ]
        stop_unless_finite(named, norm_now, phase, self.step, keys, self.run)
        optimiser.step()
        return _figures(phase, named, norm_now, optimiser.param_groups[0]["lr"])

    def _reviewed_term(self, phase: str, batch: Batch) -> dict[str, Tensor]:
        """Masks that a person confirmed on target images supervise every method alike, while its segmenter trains."""
        if batch.reviewed is None or "segmenter" not in self.method.phases[phase]:
            return {}
        output = self.method.segmenter(batch.reviewed.images, domain="target")
        logits = output.at(batch.reviewed.images.shape[-2:])
        return {"reviewed": self.training.reviewed_weight * segmentation(logits, batch.reviewed.masks)}

    def _train_only(self, phase: str) -> None:
        """Gradients flow through every network but reach only the phase's own weights."""
        trained = self.method.phases[phase]
        for name, parameters in self._parameters.items():
            for parameter in parameters:
                parameter.requires_grad = name in trained

    def _seed_of(self, step: int) -> int:
        text = f"{self.seed}/{step}/{self.fabric.global_rank}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest())

    # -- the target set -----------------------------------------------------------------------------------------

    def _visit_target(self, epoch: Epoch) -> None:
        """Run the method's pass over the target set, unless this run resumes within an epoch whose maps are stored."""
        if not epoch.stage.target_pass:
            self.round = None
            return
        self.round = epoch.round
        if self.step > epoch.first or epoch.round != epoch.index:
            return
        self.method.progress = epoch.progress(self.step, self.steps)
        figures = self.sets.pass_over_target(epoch, self.step, self.save, resumed=self.step == self._resumed_at)
        self.log.write(self.step, epoch.index, epoch.stage.name, {f"pass/{k}": v for k, v in figures.items()})

    # -- what survives ------------------------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        asked = self._asked_to_stop
        if world_size() > 1:  # one process asked to stop stops all, at the same step
            asked = bool(sum_over_processes(torch.tensor(float(asked), device=self.fabric.device)) > 0)
        if asked or self.step % self.training.checkpoint_every == 0 or self.step == self.steps:
            self.save()
        if asked and self.step < self.steps:
            raise Stopped(self.step, self.steps)

    def save(self) -> None:
        in_first_process(self.fabric, self._save)

    def _save(self) -> None:
        weights = self.method.state_dict()
        broken = [name for name, value in weights.items() if value.is_floating_point() and not value.isfinite().all()]
        if broken:
            raise TrainingDiverged(
                f"the weights {', '.join(broken[:3])} are not finite after step {self.step}, so they are not saved; "
                "start a new run with a lower training.lr or with training.clip."
            )
        tensors = {"weights": weights}
        state: dict[str, Any] = {"step": self.step, "steps": self.steps, "data": self.data_digest, "optimisers": {}}
        for phase, optimiser in self.optimisers.items():
            tensors[f"optimiser-{phase}"], state["optimisers"][phase] = pack_optimiser(optimiser)
        save_checkpoint(self.run.checkpoints, self.step, tensors, state)
        oldest = min(list_steps(self.run.checkpoints))
        self.maps.forget_before(next(epoch.round for epoch in reversed(self.plan) if epoch.first <= oldest))

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from `checkpoint`: same weights, same optimiser state, same step."""
        if (checkpoint.state["steps"], checkpoint.state["data"]) != (self.steps, self.data_digest):
            raise DataError(
                f"the images have changed since {self.run.path} was begun; bring back those it began with, or start "
                "a new run."
            )
        load_weights_into(self.method, checkpoint.tensors["weights"], checkpoint.path)
        for phase, optimiser in self.optimisers.items():
            unpack_optimiser(
                optimiser, checkpoint.tensors.get(f"optimiser-{phase}", {}),
                checkpoint.state["optimisers"].get(phase, {}),
            )  # fmt: skip
        self.step = self._resumed_at = checkpoint.step
        self.log.rewind(self.step)

    def _stop_on_signals(self) -> "_SignalGuard":
        def ask(signum: int, frame: FrameType | None) -> None:
            if self._asked_to_stop:  # the second time means now
                raise KeyboardInterrupt
            self._asked_to_stop = True

        return _SignalGuard(ask)


class _SignalGuard:
    """SIGTERM and SIGINT ask the loop to save and leave; the handlers of before come back afterwards."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def __enter__(self) -> None:
        try:
            self.before = {number: signal.signal(number, self.handler) for number in (signal.SIGTERM, signal.SIGINT)}
        except ValueError:  # not the main thread: nobody can send it a signal
            self.before = {}

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def _main_phase(epoch: Epoch) -> str:
    """Whose loss the progress bar shows: the first that this epoch trains."""
    return next(iter(epoch.stage.phases), "")


def _parameters_by_network(method: Method) -> dict[str, list[nn.Parameter]]:
    """Of all networks that some phase trains; listed once, since walking modules in every step is slow."""
    names = {name for networks in method.phases.values() for name in networks if hasattr(method, name)}
    return {name: list(method.get_submodule(name).parameters()) for name in sorted(names)}


def _figures(phase: str, terms: dict[str, float], norm: float, lr: float) -> dict[str, float]:
    whole = sum(abs(value) for value in terms.values()) or 1.0
    figures = {f"loss/{phase}": sum(terms.values()), f"norm/{phase}": norm, f"lr/{phase}": lr}
    figures |= {f"term/{name}": value for name, value in terms.items()}
    return figures | {f"share/{name}": abs(value) / whole for name, value in terms.items()}
