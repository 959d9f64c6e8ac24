"""What a method does with whole sets: statistics before the first step, a pass over the target before an epoch."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from lightning.fabric import Fabric
from rich.console import Console

from endotransfer.config import TrainingConfig
from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.data.pipeline.device_pass_set import DevicePassSet
from endotransfer.data.pipeline.pass_set import PassSet
from endotransfer.distributed import world_size
from endotransfer.engine.first_process import in_first_process
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.plan import Epoch
from endotransfer.engine.progress_bar import progress_bar
from endotransfer.engine.propagation_maps import copy_maps, propagation_keys
from endotransfer.engine.source_set import WholeSource
from endotransfer.engine.stored_target_set import StoredTargetSet
from endotransfer.engine.training_data import TrainingData
from endotransfer.errors import CheckpointError
from endotransfer.methods.base import Method
from endotransfer.pseudo_labels.logit_cache import LARGE, LogitCache, logit_bytes


class TargetPasses:
    """Shows a method its sets, keeps what a pass stores, and says beforehand what a large one will take."""

    def __init__(
        self, fabric: Fabric, method: Method, training: TrainingConfig, data: TrainingData, maps: MapStore,
        propagation: Path, console: Console,
    ) -> None:  # fmt: skip
        self.fabric, self.method, self.training, self.batch_source = fabric, method, training, data.batch_source
        self.pass_set, self.masked, self.superpixels = data.pass_set, data.masked, data.superpixels
        self.maps, self.console = maps, console
        self.propagation = propagation  # folder for the maps of a few images
        self.dtype = torch.float64 if training.precision == "64" else torch.float32
        self.seconds = 0.0  # spent on the target set as a whole, for the account of what a run cost
        self.large = LARGE
        self._superpixels_built = False
        self._said: set[str] = set()

    def prepare(self) -> None:
        """The method's statistics, once: a run that resumes has them in its checkpoint."""
        if self.masked is None or type(self.method).prepare is Method.prepare:
            return
        self.method.eval()
        batch, tags = 4 * self.training.batch_source, self.method.task.tags
        source = WholeSource(self.masked, batch, tags, self.fabric.device, self.dtype, self.superpixels)
        target = None if self.pass_set is None else self._target_set(self.pass_set, 0, lambda channels: LogitCache())
        with self._progress("preparing", None) as seen, torch.no_grad(), self.fabric.autocast():
            if target is not None:
                target.seen = seen
            self.method.prepare(source, target)

    def pass_over_target(self, epoch: Epoch, step: int, save: Callable[[], None], resumed: bool) -> dict[str, float]:
        """The method's pass before `epoch`; returns its figures.

        A large pass is worth going on with: `save` is called before it, and if this run has just `resumed` from there
        what an earlier sitting predicted is used.
        """
        pass_set = self.pass_set
        assert pass_set is not None
        began = time.perf_counter()
        self._build_superpixels(pass_set)
        self.method.eval()
        self.maps.open_pass(epoch.index)
        make_cache = partial(self._logit_cache, pass_set, step, save, resumed)
        target = self._target_set(pass_set, epoch.index, make_cache)
        with (
            self._progress("target pass", 2 * len(pass_set)) as target.seen,
            torch.no_grad(),
            self.fabric.autocast(),
        ):
            figures = self.method.target_pass(target)
        self.maps.flush()
        self.fabric.barrier()
        in_first_process(self.fabric, lambda: self._close_pass(epoch.index, pass_set))
        self.seconds += time.perf_counter() - began
        self._say_remarks()
        return figures

    def _close_pass(self, epoch: int, pass_set: PassSet | DevicePassSet) -> None:
        stored = self.maps.close_pass(epoch)
        copy_maps(stored, self.propagation, epoch, propagation_keys(pass_set.images.samples))

    def _say_remarks(self) -> None:
        """What the method has found, as soon as it has: who knows better need not wait for the end."""
        remarks = self.method.findings().get("remarks")
        for remark in remarks if isinstance(remarks, list) else []:
            if remark not in self._said and self.fabric.is_global_zero:
                self.console.print(f"note: {remark}", markup=False, soft_wrap=True)
            self._said.add(remark)

    def _target_set(
        self, pass_set: PassSet | DevicePassSet, pass_epoch: int, make_cache: Callable[[int], LogitCache]
    ) -> StoredTargetSet:
        # With several processes each makes a part of the maps and reads all of them, so they meet on disk.
        near = self.batch_source if isinstance(self.batch_source, DeviceBatchSource) and world_size() == 1 else None
        return StoredTargetSet(pass_set, self.maps, self.fabric.device, self.dtype, near, pass_epoch, make_cache)

    def _logit_cache(
        self, pass_set: PassSet | DevicePassSet, step: int, save: Callable[[], None], resumed: bool, channels: int
    ) -> LogitCache:
        """In memory, or on disk where `channels` numbers of every 8 x 8 pixels of all images take too much of it."""
        images = pass_set.images
        needed = logit_bytes(len(images), channels, images.size)
        if needed <= self.large:
            return LogitCache()
        folder = self.maps.folder / f".logits-{step}-{self.fabric.global_rank}-of-{world_size()}"
        if resumed:
            return LogitCache(folder)
        in_first_process(self.fabric, lambda: self._clear_and_check(needed, len(images), images.size))
        save()
        return LogitCache(folder)

    def _clear_and_check(self, logits: int, images: int, size: tuple[int, int]) -> None:
        """Remove what passes of other sittings left, and say what this one takes, before it does."""
        self.maps.folder.mkdir(parents=True, exist_ok=True)
        for folder in self.maps.folder.glob(".logits-*"):
            shutil.rmtree(folder, ignore_errors=True)
        labels = images * size[0] * size[1]
        needed, free = logits + labels, free_space(self.maps.folder)
        self.console.print(
            f"the pass over {images} target images keeps {logits / 1e9:.1f} GB of logits and at most "
            f"{labels / 1e9:.1f} GB of labels under {self.maps.folder} ({free / 1e9:.0f} GB are free).",
            markup=False, soft_wrap=True,
        )  # fmt: skip
        if needed > free:
            raise CheckpointError(
                f"the target pass needs {needed / 1e9:.1f} GB under {self.maps.folder} and {free / 1e9:.1f} GB are "
                "free; free some space or choose another --out, then resume."
            )

    @contextmanager
    def _progress(self, what: str, batches: int | None) -> Iterator[Callable[[int], None]]:
        """A bar over batches; both halves of a pass, predicting and labelling, count."""
        with progress_bar(self.console, shown=self.fabric.is_global_zero) as bar:
            task = bar.add_task(what, total=batches, note="")
            yield lambda seen: bar.update(task, advance=seen)
            bar.update(task, visible=False)

    def _build_superpixels(self, pass_set: PassSet | DevicePassSet) -> None:
        """Once, in parallel and cached on disk; a pass that finds them all there takes no time."""
        if not self.method.wants_superpixels() or self._superpixels_built:
            return
        with progress_bar(self.console, shown=self.fabric.is_global_zero) as bar:
            task = bar.add_task("super-pixels", total=None, note="")
            pass_set.build_superpixels(lambda done, total: bar.update(task, completed=done, total=total))
        self._superpixels_built = True


def free_space(folder: Path) -> int:
    return shutil.disk_usage(folder).free
