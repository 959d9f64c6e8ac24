"""The same run once more: stopped and resumed, or with noise in place of the target's masks.  Nothing may change."""

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from endotransfer.config import Experiment
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.run import train
from endotransfer.methods import METHODS, Method

STOP_AFTER = 5  # of 9 steps, 3 to an epoch: in the middle of one


def final_weights(run: Path) -> dict[str, Tensor]:
    """All state of the method in the last checkpoint."""
    weights: dict[str, Tensor] = load_latest(run / "checkpoints")[0].tensors["weights"]
    return weights


def differing(one: Path, other: Path) -> list[str]:
    """Names of the tensors that two runs do not agree on to the last bit."""
    first, second = final_weights(one), final_weights(other)
    same = {name for name in first if name in second and torch.equal(first[name], second[name])}
    return sorted((first.keys() | second.keys()) - same)


def train_in_two_parts(experiment: Experiment, out: Path, stop_after: int = STOP_AFTER) -> None:
    """Ask the run to stop in mid-epoch, as `kill` would, and resume it."""
    with _stopping(METHODS.get(experiment.method["name"]), stop_after):
        assert train(experiment, out) is None, "the run did not stop when it was asked to"
    assert max(list_steps(out / "checkpoints")) == stop_after
    train(experiment, out, resume=True)


@contextmanager
def _stopping(cls: type[Method], step: int) -> Iterator[None]:
    after_step = cls.after_step

    def stop(self: Method) -> None:
        after_step(self)
        if self.progress.step + 1 == step:
            signal.raise_signal(signal.SIGTERM)

    with patch.object(cls, "after_step", stop):
        yield


def with_noisy_masks(task: Path, root: Path) -> Path:
    """A copy of a task whose target training masks are noise; it keeps its name, of which every image's key is part."""
    copy = root / task.name
    shutil.copytree(task, copy)
    noise = np.random.default_rng(0)
    for line in (copy / "capsule" / "labels.csv").read_text().splitlines()[1:]:
        cells = line.split(",")
        if "train" in cells:
            path = copy / "capsule" / "masks" / f"{cells[0]}.png"
            shape = np.asarray(Image.open(path)).shape
            Image.fromarray(noise.integers(0, 256, shape, dtype=np.uint8)).save(path)
    return copy
