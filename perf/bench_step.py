"""A training step against a plain supervised step on as many images, in one run; and the memory of each preset.

On a GPU: ResNet-50, 256 px, 4 + 4 images, bf16, and at 352 px the memory of the paper's card.  Elsewhere a small
network stands in, so that the script itself is exercised everywhere.
"""

import gc
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from rich.console import Console
from torch.nn.functional import cross_entropy

from endotransfer.batch import Batch, PassBatch, SourceBatch, TargetBatch
from endotransfer.config import ModelConfig, TrainingConfig
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.start_fabric import start_fabric
from endotransfer.engine.trainer import Trainer
from endotransfer.engine.training_data import TrainingData
from endotransfer.methods import TaskInfo, method_config
from endotransfer.pseudo_labels.logit_cache import LogitCache
from perf.timing import emit, median_seconds
from perf.untrained import untrained_weights

PAPER_STEPS, PAPER_TARGET = 742, 300  # an epoch of the paper's data: 2,969 source images by 4; 300 target images


@dataclass
class Setting:
    model: ModelConfig
    size: int
    precision: Literal["32", "bf16"]
    images: int = 4  # of each domain


def small_or_real() -> Setting:
    if torch.cuda.is_available():
        weights = untrained_weights("resnet50", Path(tempfile.mkdtemp()))
        model = ModelConfig(
            backbone="resnet50", pretrained=False, weights=weights, norm="frozen", aspp_rates=(6, 12, 18)
        )
        return Setting(model, 256, "bf16")
    model = ModelConfig(backbone="test_resnet", pretrained=False, norm="group", multi_grid=None, aspp_rates=(1, 2, 3))
    return Setting(model, 64, "32")


def make_trainer(setting: Setting, name: str, folder: Path, *, graphs: bool = True) -> Trainer:
    training = TrainingConfig(precision=setting.precision, loggers=(), epochs=2, graphs=graphs)
    cls, _, config = method_config({"name": name})
    fabric = start_fabric(training)
    with fabric.device:
        method = cls(TaskInfo(2, True, setting.model, epochs=2), config)
    folder.mkdir(exist_ok=True)
    nothing: Any = None  # batches are handed in by the benchmark
    data = TrainingData(nothing, nothing, None, nothing, steps_per_epoch=10_000, notes=Counter())
    return Trainer(fabric, method, training, 0, data, RunFolder(folder), Console(quiet=True))


def make_batch(setting: Setting, device: torch.device) -> Batch:
    n, size = setting.images, setting.size
    torch.manual_seed(0)
    images = torch.rand(2 * n, 3, size, size, device=device)
    masks = torch.randint(0, 2, (n, size, size), device=device)
    tags = torch.randint(0, 2, (n,), device=device)
    stored = torch.where(torch.rand(n, size, size, device=device) < 0.5, masks, 255)
    return Batch(SourceBatch(images[:n], masks, tags), TargetBatch(images[n:], tags, stored))


def plain_step(setting: Setting, trainer: Trainer) -> Any:
    """What a bare loop would do: one forward of all images, cross-entropy, backward, Adam."""
    device = trainer.fabric.device
    net = trainer.method.segmenter
    net.requires_grad_(True)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-4, fused=device.type == "cuda")
    images = torch.rand(2 * setting.images, 3, setting.size, setting.size, device=device)
    masks = torch.randint(0, 2, (2 * setting.images, setting.size, setting.size), device=device)

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with trainer.fabric.autocast():
            loss = cross_entropy(net(images).at(masks.shape[-2:]).float(), masks)
        torch.autograd.backward(loss)
        optimiser.step()

    return step


class RandomTargetSet:
    """300 random images with tags and super-pixels in memory; maps go to disk, as in training."""

    total = PAPER_TARGET

    def __init__(self, setting: Setting, device: torch.device, folder: Path) -> None:
        self.device, self.maps, self.size = device, MapStore(folder), (setting.size, setting.size)
        self.images = torch.rand(PAPER_TARGET, 3, setting.size, setting.size, device=device)
        block = torch.arange(setting.size, device=device) // 16
        self.blocks = block[:, None] * 1000 + block

    def logit_cache(self, channels: int) -> LogitCache:
        return LogitCache()

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def without_images(self) -> Iterator[PassBatch]:
        return self.after(0)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for start in range(20 * batches, PAPER_TARGET, 20):
            keys = [f"t/{index}" for index in range(start, start + 20)]
            yield PassBatch(self.images[start : start + 20], torch.ones(20, device=self.device).long(), keys)

    def superpixels(self, keys: list[str]) -> torch.Tensor:
        return self.blocks.expand(len(keys), -1, -1)

    def store(self, keys: list[str], maps: torch.Tensor) -> None:
        self.maps.store(keys, maps)


def pass_seconds(trainer: Trainer, setting: Setting, folder: Path) -> float:
    target = RandomTargetSet(setting, trainer.fabric.device, folder / "maps")

    def visit() -> None:
        target.maps.open_pass(1)
        trainer.method.eval()
        with torch.no_grad(), trainer.fabric.autocast():
            trainer.method.target_pass(target)
        target.maps.flush()

    return median_seconds(visit, repeats=3, warmup=1)


def step_seconds(setting: Setting, trainer: Trainer) -> float:
    batch, epoch = make_batch(setting, trainer.fabric.device), trainer.plan[-1]

    def step() -> None:
        trainer._train_step([batch], epoch)

    for _ in range(5):
        step()
    if trainer.graphs is not None:  # recorded after an epoch's first steps, as in training
        trainer.graphs.record()
    return median_seconds(step, repeats=20, warmup=5)


def measure_steps() -> None:
    setting = small_or_real()
    facts: dict[str, Any] = {
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "size": setting.size,
        "images": 2 * setting.images,
        "rival": "plain supervised step, no graphs",
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for method, limit in (("semantic_transfer", 1.3), ("tag_transfer", None)):
            trainer = make_trainer(setting, method, folder / method)
            bare = make_trainer(setting, method, folder / f"{method}-bare", graphs=False)
            ours, without = step_seconds(setting, trainer), step_seconds(setting, bare)
            plain = median_seconds(plain_step(setting, bare), repeats=20, warmup=5)
            whole = pass_seconds(trainer, setting, folder / method) / PAPER_STEPS
            emit(f"{method} step", ours / plain, at_most=limit, seconds=ours, rival_seconds=plain, **facts)
            emit(f"{method} step, its CUDA graphs off", without / plain, seconds=without, **facts)
            emit(
                f"{method} step with the target pass",
                (ours + whole) / plain,
                at_most=limit and 1.5,
                pass_seconds_a_step=whole,
                note=f"pass over {PAPER_TARGET} images every {PAPER_STEPS} steps, as in the paper's data",
                **facts,
            )


def measure_memory() -> None:  # pragma: needs cuda
    """The peak of a step with its graphs recorded; a target pass keeps no gradients and needs less."""
    base = small_or_real()
    runs: tuple[tuple[str, Literal["32", "bf16"]], ...] = (("semantic_transfer", "32"), ("tag_transfer", "bf16"))
    for method, precision in runs:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        with tempfile.TemporaryDirectory() as name:
            setting = Setting(base.model, 352, precision)
            step_seconds(setting, make_trainer(setting, method, Path(name)))
        emit(f"{method} memory at 352 px, {precision}, in GB", torch.cuda.max_memory_reserved() / 1e9, at_most=12)


if __name__ == "__main__":
    if torch.cuda.is_available():
        measure_memory()  # first, while nothing else has taken any
    measure_steps()
