"""A training step against the best plain supervised step on as many images, in one run; and the memory of each preset.

On a GPU: ResNet-50, 256 px, bf16, 16 + 16 and 4 + 4 images, and at 352 px the memory of the paper's card.  Elsewhere a
small network stands in, so that the script itself is exercised everywhere.  `--profile` also writes, for both, a table
of kernels by their time.
"""

import argparse
import gc
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from rich.console import Console
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from endotransfer.batch import Batch, PassBatch, SourceBatch, TargetBatch
from endotransfer.config import ModelConfig, TrainingConfig
from endotransfer.engine.graphs import OFTEN
from endotransfer.engine.map_store import MapStore
from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.start_fabric import start_fabric
from endotransfer.engine.trainer import Trainer
from endotransfer.engine.training_data import TrainingData
from endotransfer.methods import TaskInfo, method_config
from endotransfer.pseudo_labels.logit_cache import LogitCache
from perf.plain_loop import STEPS, PlainLoop, Step, best_plain_step
from perf.timing import alternating_seconds, emit, matrix_rate, median_seconds
from perf.untrained import untrained_weights

PAPER_STEPS, PAPER_TARGET = 742, 300  # an epoch of the paper's data: 2,969 source images by 4; 300 target images


@dataclass
class Setting:
    model: ModelConfig
    size: int
    precision: Literal["32", "bf16"]
    images: int = 4  # of each domain
    compiled: bool = False  # the recorded segmenter of our method


def small_or_real(images: int = 4, *, compiled: bool = False) -> Setting:
    if torch.cuda.is_available():
        weights = untrained_weights("resnet50", Path(tempfile.mkdtemp()))
        model = ModelConfig(
            backbone="resnet50", pretrained=False, weights=weights, norm="frozen", aspp_rates=(6, 12, 18)
        )
        return Setting(model, 256, "bf16", images, compiled)
    model = ModelConfig(backbone="test_resnet", pretrained=False, norm="group", multi_grid=None, aspp_rates=(1, 2, 3))
    return Setting(model, 64, "32", images)


def make_trainer(setting: Setting, name: str, folder: Path, *, graphs: bool = True) -> Trainer:
    training = TrainingConfig(
        precision=setting.precision, loggers=(), epochs=2, graphs=graphs, compile=setting.compiled and graphs
    )
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


def own_step(setting: Setting, trainer: Trainer) -> Step:
    """A step of the method, its graphs recorded."""
    batch, epoch = make_batch(setting, trainer.fabric.device), trainer.plan[-1]

    def step() -> None:
        trainer._train_step([batch], epoch)

    def record() -> None:
        """As training does at the beginning of a stage, and again after its first steps."""
        if trainer.graphs is not None:
            assert trainer.whole_steps is not None
            if not trainer.whole_steps.record(epoch.stage):
                trainer.graphs.record()

    record()
    for _ in range(OFTEN):
        step()
    record()
    return step


def flops_of(step: Step) -> int:
    with FlopCounterMode(display=False) as counter:
        step()
    return int(counter.get_total_flops())


def measure_steps(images: int, limits: dict[str, float | None], *, compiled: bool, profiled: Path | None) -> None:
    """Each method's step against the best plain one on as many images: `limits` by method."""
    setting, cuda = small_or_real(images, compiled=compiled), torch.cuda.is_available()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = make_trainer(setting, "semantic_transfer", folder / "bare", graphs=False)
        device = bare.fabric.device
        torch.manual_seed(1)
        pictures = torch.rand(2 * images, 3, setting.size, setting.size, device=device)
        masks = torch.randint(0, 2, (2 * images, setting.size, setting.size), device=device)
        net: Any = bare.method.segmenter
        plain_flops = PlainLoop(net, pictures, masks, bare.fabric.autocast).flops()
        form, plain, forms = best_plain_step(net, pictures, masks, bare.fabric.autocast, compiled=compiled)
        facts: dict[str, Any] = {
            "device": torch.cuda.get_device_name() if cuda else "cpu", "size": setting.size,
            "images": f"{images} + {images}", "precision": setting.precision,
        }  # fmt: skip
        share = plain_flops / forms[form] / matrix_rate()
        emit(
            f"plain supervised step, {2 * images} images: share of the measured matrix rate", share,
            at_least=0.40 if cuda and images >= 16 else None, rival_form=form, tera_flop=plain_flops / 1e12,
            matrix_tera_flop_a_second=matrix_rate() / 1e12, **{f"seconds_{one}": found for one, found in forms.items()},
            **facts,
        )  # fmt: skip
        for method, limit in limits.items():
            eager = make_trainer(setting, method, folder / f"{method}-bare", graphs=False)
            flops = flops_of(own_step(setting, eager))
            trainer = make_trainer(setting, method, folder / method)
            step = own_step(setting, trainer)
            seconds = alternating_seconds({"ours": step, "rival": plain}, each=3, run=STEPS)
            ours, rival = seconds["ours"], seconds["rival"]
            whole = pass_seconds(trainer, setting, folder / method) / PAPER_STEPS
            emit(
                f"{method} step, {images} + {images}, against the best plain step", ours / rival,
                at_most=limit if cuda else None,
                seconds=ours, rival_seconds=rival, rival=form, our_graphs="compiled" if compiled and cuda else "plain",
                **facts,
            )  # fmt: skip
            emit(
                f"{method} step, {images} + {images}: share of the measured matrix rate", flops / ours / matrix_rate(),
                at_least=0.35 if cuda and images >= 16 else None, tera_flop=flops / 1e12,
                flop_against_plain=flops / plain_flops, **facts,
            )  # fmt: skip
            emit(
                f"{method} step with its target pass, {images} + {images}", (ours + whole) / rival,
                pass_seconds_a_step=whole,
                note=f"pass over {PAPER_TARGET} images every {PAPER_STEPS} steps, as in the paper's data", **facts,
            )  # fmt: skip
            if profiled is not None:
                write_profile(profiled / f"{method}-{images}.txt", step)
        if profiled is not None:
            write_profile(profiled / f"plain-{images}.txt", plain)


def write_profile(path: Path, step: Step, steps: int = 10) -> None:
    """Kernels (on a processor: operations) by the time they take themselves."""
    cuda = torch.cuda.is_available()
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]) as seen:
        for _ in range(steps):
            step()
        if cuda:
            torch.cuda.synchronize()
    sort = "self_cuda_time_total" if cuda else "self_cpu_time_total"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(seen.key_averages().table(sort_by=sort, row_limit=40, max_name_column_width=90), encoding="utf-8")
    print(f"# written: {path}", flush=True)


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
            median_seconds(own_step(setting, make_trainer(setting, method, Path(name))), repeats=5, warmup=2)
        emit(f"{method} memory at 352 px, {precision}, in GB", torch.cuda.max_memory_reserved() / 1e9, at_most=12)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m perf step")
    parser.add_argument("--profile", type=Path, nargs="?", const=Path("profiles"), help="folder for tables of kernels")
    parser.add_argument("--no-compile", action="store_true", help="leave out what takes a minute to compile")
    chosen = parser.parse_args(arguments)
    if torch.cuda.is_available():
        measure_memory()  # first, while nothing else has taken any
    small = {"semantic_transfer": 1.2, "tag_transfer": 1.2}
    measure_steps(4, dict(small), compiled=False, profiled=chosen.profile)
    large = {"semantic_transfer": 1.15, "tag_transfer": 1.15}
    measure_steps(16, dict(large), compiled=not chosen.no_compile, profiled=chosen.profile)


if __name__ == "__main__":
    main(sys.argv[1:])
