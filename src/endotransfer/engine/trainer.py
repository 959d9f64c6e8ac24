"""The only training loop.  A method says what is minimised; this says when, in which order, and what survives."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import torch
from lightning.fabric import Fabric
from rich.console import Console

from endotransfer.batch import Batch
from endotransfer.config import TrainingConfig
from endotransfer.data.pipeline.to_device import to_device
from endotransfer.distributed import sum_over_processes, world_size
from endotransfer.engine.callbacks import Callback, CallbackList, TrainingEvent
from endotransfer.engine.checkpoint import Checkpoint, list_steps
from endotransfer.engine.data_record import CONTENTS, DataRecord
from endotransfer.engine.first_process import in_first_process
from endotransfer.engine.graphs import OFTEN, use_graphs
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.optimisers import build_optimisers
from endotransfer.engine.phase_update import PhaseUpdate
from endotransfer.engine.plan import Epoch, lay_out
from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.run_log import RunLog
from endotransfer.engine.schedule import lr_factor_in, with_warmup
from endotransfer.engine.step_figures import StepFigures
from endotransfer.engine.stop_signals import StopSignals
from endotransfer.engine.target_pass import TargetPasses
from endotransfer.engine.trackers import Trackers
from endotransfer.engine.training_data import TrainingData
from endotransfer.engine.training_progress import TrainingProgress
from endotransfer.engine.training_state import finite_weights, restore_training, save_training
from endotransfer.engine.whole_steps import WholeSteps
from endotransfer.methods.base import Memo, Method


class Stopped(Exception):  # noqa: N818  (not an error: the run was asked to leave, and can be resumed)
    """Training left early on request; everything up to this step is in a checkpoint."""

    def __init__(self, step: int, steps: int) -> None:
        super().__init__(f"stopped at step {step} of {steps}; go on with --resume.")


class Trainer:
    """Trains one method on one experiment's data.  All state: the method, its optimisers, and the step."""

    def __init__(
        self, fabric: Fabric, method: Method, training: TrainingConfig, seed: int, data: TrainingData,
        run: RunFolder, console: Console, record: DataRecord | None = None, callbacks: Sequence[Callback] = (),
        *, save_last: bool = True, trackers: Trackers | None = None,
    ) -> None:  # fmt: skip
        self.fabric, self.method, self.seed, self.save_last = fabric, method, seed, save_last
        self.data, self.run, self.console, self.record = data, run, console, record
        self.plan = lay_out(method.stages(), data.steps_per_epoch)
        self.steps = self.plan[-1].last
        self.training = training = with_warmup(training, method.needs.warmup_share, self.steps)
        self.step = 0
        self.resumed_at: int | None = None
        self.dtype = torch.float64 if training.precision == "64" else torch.float32
        method.to(fabric.device, self.dtype)
        phases = {phase for epoch in self.plan for phase in epoch.stage.phases}
        self.optimisers = build_optimisers(method, phases, training)
        self.phase_update = PhaseUpdate(fabric, method, training, self.optimisers, self.dtype, run)
        self.maps = MapStore(run.maps, method.task.classes)
        self.pass_epoch: int | None = None  # whose pass stored the maps that training reads; None: there are none
        self.target_passes = TargetPasses(fabric, method, training, data, self.maps, run.propagation, console)
        # With accumulation the outputs of one batch outlive the forward of the next, which a graph would overwrite.
        graphs = training.graphs and training.accumulate == 1
        norm = method.task.model.norm
        self.graphs = use_graphs(fabric, method.segmenter, norm, training.compile) if graphs else None
        if self.graphs is not None and (training.compile or training.precision == "bf16"):  # pragma: needs cuda
            # As tensor cores want it: otherwise maps are turned back and forth around every convolution.  Not the
            # critics, whose few channels have no such kernels; the teacher, since alike tensors are averaged at once.
            for network in (method.segmenter, method.teacher):
                if network is not None:
                    network.to(memory_format=torch.channels_last)
        self.whole_steps = WholeSteps(method, self.phase_update, self.graphs) if self.graphs is not None else None
        self._graphed_stage = ""
        self.stop = StopSignals()
        folder, tensorboard = run.path if fabric.is_global_zero else None, "tensorboard" in training.loggers
        self.log = RunLog(folder, tensorboard=tensorboard, trackers=trackers)
        self.progress = TrainingProgress(console, shown=fabric.is_global_zero)
        self._ahead: list[StepFigures] = []  # of the last step, still on their way from a GPU
        self._waits = bool(callbacks)  # who is told of every step is told all of it
        self.callbacks = CallbackList([self.progress, *(callbacks if fabric.is_global_zero else ())], self.stop.ask)

    def fit(self) -> None:
        """Train from wherever `self.step` is to the end of the plan."""
        ahead = [epoch for epoch in self.plan if self.step < epoch.last]
        if not ahead:
            return
        with self.stop, self.progress.over(self.step, self.steps):
            if self.resumed_at is None:
                self.target_passes.prepare()
            event = self._event(ahead[0], {})
            self.callbacks.on_train_start(event)
            try:
                for epoch in ahead:
                    self._train_epoch(epoch)
            finally:
                self.callbacks.on_train_end(replace(event, step=self.step))

    def _train_epoch(self, epoch: Epoch) -> None:
        self._visit_target(epoch)
        self.method.train()
        event = self._event(epoch, {})
        for last in self._stretches(epoch):
            if self.graphs is not None:
                assert self.whole_steps is not None
                if not self.whole_steps.record(epoch.stage):
                    self.graphs.record()
            for batches in self._batches(epoch, last):
                event = self._train_step(batches, epoch)
                self.callbacks.on_step(event)
                self._save_if_due(event)
        self.callbacks.on_epoch_end(event)
        if self._asked_to_stop() and self.step < self.steps:  # before the next epoch's pass over the target
            self.save()
            raise Stopped(self.step, self.steps)

    def _stretches(self, epoch: Epoch) -> list[int]:
        """Where the rest of an epoch is interrupted, its end included: once graphs have seen what a stage asks for."""
        if self.graphs is None or self._graphed_stage == epoch.stage.name or self.step + OFTEN >= epoch.last:
            return [epoch.last]
        self._graphed_stage = epoch.stage.name
        return [self.step + OFTEN, epoch.last]

    def _batches(self, epoch: Epoch, last: int) -> Iterator[list[Batch]]:
        """The steps up to `last`: for each, the batches whose gradients make it."""
        several = self.training.accumulate
        batches = self.data.batch_source.batches(
            self.step * several, last * several, rank=self.fabric.global_rank, world_size=self.fabric.world_size,
            pass_epoch=self.pass_epoch, use_target=epoch.stage.target,
        )  # fmt: skip
        while of_step := [to_device(batch, self.fabric.device, self.dtype) for batch in islice(batches, several)]:
            yield of_step

    def _train_step(self, batches: list[Batch], epoch: Epoch) -> TrainingEvent:
        """One update of every phase that is active, in the stage's order."""
        method = self.method
        method.progress = epoch.progress(self.step, self.steps)
        # Noise (dropout) is a function of the step, so a resumed run draws what the uninterrupted one drew.
        torch.manual_seed(self._seed_of(self.step))
        if self.graphs is not None:
            self.graphs.new_step()
        factor = lr_factor_in(epoch, self.training, self.step)
        phases = [phase for phase in epoch.stage.phases if method.active(phase)]
        memos: list[Memo] = [{} for _ in batches]
        found = None if self.whole_steps is None else self.whole_steps.replay(phases, batches, memos, factor, self.step)
        if found is None:
            found = [self.phase_update.update(phase, batches, memos, factor, self.step) for phase in phases]
        method.after_step()
        self.step += 1
        figures = self._settled()  # of the step before: this one's are still being computed
        self._ahead = found
        logged = self.step % self.training.log_every == 0 or self.step == epoch.last
        if logged or self._waits or self.fabric.device.type != "cuda":
            figures = self._settled()
        if logged:
            figures |= self._own_figures(memos)
            self.log.write(self.step, epoch.index, epoch.stage.name, figures)
        return self._event(epoch, figures)

    def _settled(self) -> dict[str, float]:
        """The figures of the last step, once a GPU has them; TrainingDiverged where they are not finite."""
        found, self._ahead = self._ahead, []
        return {name: value for one in found for name, value in one.settle(self.run).items()}

    def _own_figures(self, memos: list[Memo]) -> dict[str, float]:
        """What the method shows of a step beyond its losses: means over the step's batches and all processes."""
        with torch.no_grad():
            found = [self.method.figures(memo) for memo in memos]
        if not found[0]:
            return {}
        values = torch.stack([torch.stack([one[name].to(self.dtype) for one in found]).mean() for name in found[0]])
        means = (sum_over_processes(values) / world_size()).tolist()
        return {f"figure/{name}": mean for name, mean in zip(found[0], means, strict=True)}

    def _seed_of(self, step: int) -> int:
        text = f"{self.seed}/{step}/{self.fabric.global_rank}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest())

    def _event(self, epoch: Epoch, figures: dict[str, float]) -> TrainingEvent:
        loss = figures.get(f"loss/{epoch.stage.phases[0]}") if epoch.stage.phases else None
        return TrainingEvent(self.step, self.steps, epoch.index, epoch.stage.name, figures, loss)

    # -- the target set -----------------------------------------------------------------------------------------

    def _visit_target(self, epoch: Epoch) -> None:
        """Run the method's pass over the target set, unless this run resumes within an epoch whose maps are stored."""
        if not epoch.stage.target_pass:
            self.pass_epoch = None
            return
        self.pass_epoch = epoch.pass_epoch
        if self.step > epoch.first or epoch.pass_epoch != epoch.index:
            return
        self.method.progress = epoch.progress(self.step, self.steps)
        found = self.target_passes.pass_over_target(epoch, self.step, self.save, resumed=self.step == self.resumed_at)
        figures = {f"pass/{name}": value for name, value in found.items()}
        self.log.write(self.step, epoch.index, epoch.stage.name, figures)
        self.callbacks.on_target_pass(self._event(epoch, figures))

    # -- what survives ------------------------------------------------------------------------------------------

    def _save_if_due(self, event: TrainingEvent) -> None:
        asked = self._asked_to_stop()
        ended = self.step == self.steps
        if ended and not self.save_last:
            finite_weights(self.method, self.step)
        elif asked or ended or self.step % self.training.checkpoint_every == 0:
            self.save()
            self.callbacks.on_checkpoint(event)
        if asked and self.step < self.steps:
            raise Stopped(self.step, self.steps)

    def _asked_to_stop(self) -> bool:
        """One process asked to stop stops all, at the same step."""
        if world_size() == 1:
            return self.stop.asked
        return bool(sum_over_processes(torch.tensor(float(self.stop.asked), device=self.fabric.device)) > 0)

    def save(self) -> None:
        self._settled()  # nothing is kept that a step has ruined
        in_first_process(self.fabric, self._save)

    def _save(self) -> None:
        if self.record is not None:
            self.record.write()
        digest = self._data_digest()
        save_training(self.run, self.method, self.optimisers, step=self.step, steps=self.steps, data=digest)
        oldest = min(list_steps(self.run.checkpoints))
        self.maps.forget_before(next(epoch.pass_epoch for epoch in reversed(self.plan) if epoch.first <= oldest))

    def _data_digest(self) -> str:
        return self.record.digest() if self.record is not None else ""

    def check_maps(self, step: int) -> None:
        """CheckpointError where the stored maps that training goes on with after `step` are lost or damaged."""
        for epoch in self.plan:
            within = epoch.first < step < epoch.last
            if epoch.stage.target_pass and (within or (epoch.first == step and epoch.pass_epoch != epoch.index)):
                self.maps.check_pass(epoch.pass_epoch)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on from `checkpoint`: same weights, same optimiser state, same step."""
        digest, record = self._data_digest(), self.record
        if record is not None and not str(checkpoint.state.get("data")).startswith(CONTENTS):
            digest = record.names_digest()
        restore_training(
            checkpoint, self.run, self.method, self.optimisers, steps=self.steps, data=digest,
            changes=record.changes if record else lambda: "",
        )  # fmt: skip
        self.step = self.resumed_at = checkpoint.step
        self.log.rewind(self.step)
