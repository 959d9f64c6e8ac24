"""A pass over a large target set: its time against bare inference, how time and memory grow with images and classes,
what Cityscapes would take, and training with two and four processes.

`python -m perf scale --plot FILE` draws the growth; `growth` or `processes` as an option measures that part alone.

On a GPU with a ResNet-50 at 512 x 1024; elsewhere a ResNet-18 at 128 x 256 stands in.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from endotransfer.batch import PassBatch, SegOutput
from endotransfer.config import ModelConfig
from endotransfer.data.pipeline.host_copy import HostCopy
from endotransfer.engine.map_store import MapStore
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.logit_cache import LogitCache, logit_bytes
from perf.timing import emit

CLASSES = 19
CITYSCAPES, FULL = 2975, (1024, 2048)
CRST_GB = 474  # float32 probability maps of those images at full size, as the reference of CBST keeps them
CUDA = torch.cuda.is_available()
SIZE = (512, 1024) if CUDA else (128, 256)
BATCH = 4
NETWORK = "resnet50" if CUDA else "resnet18"


class GeneratedSet:
    """`images` smooth random images, made when they are asked for, so that the set itself takes no memory."""

    def __init__(
        self, images: int, size: tuple[int, int], folder: Path, device: torch.device, *, disk: bool = True
    ) -> None:
        self.count, self.total, self.size, self.device = images, images, size, device
        self.cache, self.maps = LogitCache(folder / "logit_cache" if disk else None), MapStore(folder / "maps")
        self.maps.open_pass(0)
        torch.manual_seed(0)
        coarse = torch.rand(BATCH, 3, 8, 16, device=device)
        self.pattern = torch.nn.functional.interpolate(coarse, size, mode="bicubic").clamp(0, 1)

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for first in range(batches * BATCH, self.count, BATCH):
            yield PassBatch(self.pattern.roll(first, -1), None, self._keys(first))

    def without_images(self) -> Iterator[PassBatch]:
        return (PassBatch(torch.empty(0), None, self._keys(first)) for first in range(0, self.count, BATCH))

    def logit_cache(self, channels: int) -> LogitCache:
        return self.cache

    def superpixels(self, keys: list[str]) -> Tensor:
        raise NotImplementedError("nobody votes in this benchmark")

    def store(self, keys: list[str], maps: Tensor) -> None:
        self.maps.store(keys, maps)

    def _keys(self, first: int) -> list[str]:
        return [f"set/{index}" for index in range(first, first + BATCH)]


def make_network(device: torch.device, classes: int = CLASSES) -> torch.nn.Module:
    from endotransfer.models.segmenters.segmenter import SegmenterSpec  # here, since timm takes its share of memory

    torch.manual_seed(0)
    model = ModelConfig(backbone=NETWORK, pretrained=False, norm="frozen", multi_grid=None, aspp_rates=(6, 12, 18))
    return SegmenterSpec(model=model, classes=classes, tags=False).build().to(device).eval()


class PooledColours(torch.nn.Module):
    """A network without weight: colours at 1/8, mixed to class scores.  It leaves memory to the pass."""

    def __init__(self, classes: int = CLASSES) -> None:
        super().__init__()
        self.classes = classes

    def forward(self, images: Tensor) -> SegOutput:
        pooled = torch.nn.functional.avg_pool2d(images, 8)
        mix = torch.linspace(-9, 9, 3 * self.classes, device=images.device).view(self.classes, 3, 1, 1)
        return SegOutput(torch.nn.functional.conv2d(pooled - 0.5, mix), None, pooled)


@torch.inference_mode()
def bare_inference(network: torch.nn.Module, target: GeneratedSet) -> None:
    """What anybody would do to look at predictions: forward, up-sample, take the largest; the GPU never waits."""
    found = [HostCopy(network(batch.images).at(target.size).argmax(1).to(torch.uint8)) for batch in target]
    for copy in found:
        copy.get()


def whole_pass(network: torch.nn.Module, target: GeneratedSet, classes: int = CLASSES) -> None:
    def predict(images: Tensor) -> SegOutput:
        output: SegOutput = network(images)
        return output

    with torch.inference_mode():
        label_target_set(predict, target, classes, 0.3, device=target.device)
    target.maps.flush()


def seconds_of(work: str, images: int, size: tuple[int, int]) -> float:
    device = torch.device("cuda" if CUDA else "cpu")
    network = make_network(device)
    with tempfile.TemporaryDirectory() as name:
        # As in training, logits of a set of this size stay in memory; a pass of two batches comes first.
        target = GeneratedSet(images, size, Path(name), device, disk=False)
        task = {"bare": bare_inference, "pass": whole_pass}[work]
        task(network, GeneratedSet(2 * BATCH, size, Path(name) / "warm", device, disk=False))
        _wait()
        began = time.perf_counter()
        task(network, target)
        _wait()
        return time.perf_counter() - began


def _wait() -> None:
    if CUDA:
        torch.cuda.synchronize()


def measure_time(images: int = 100 if CUDA else 24) -> None:
    rounds = [(seconds_of("pass", images, SIZE), seconds_of("bare", images, SIZE)) for _ in range(3)]
    ours, rival = (sorted(times)[1] for times in zip(*rounds, strict=True))
    emit(
        "threshold and label pass against bare inference", ours / rival, at_most=1.15, seconds=ours,
        rival_seconds=rival, rival="forward, up-sample, argmax", images=images, size=list(SIZE), classes=CLASSES,
        device="cuda" if CUDA else "cpu", network=NETWORK,
    )  # fmt: skip


def measure_memory() -> None:
    """Each in a process of its own: a peak cannot be taken back."""
    peaks = {images: _peak_of(images)["megabytes"] for images in (50, 500)}
    emit(
        "peak memory of a pass, 500 images against 50", peaks[500] / peaks[50], at_most=1.05,
        megabytes=peaks[500], rival_megabytes=peaks[50],
    )  # fmt: skip


def _peak_of(images: int, classes: int = CLASSES) -> dict[str, float]:
    command = [sys.executable, "-m", "perf.bench_scale", "--peak", str(images), str(classes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_growth(plot: Path | None, images: int = 12, classes: int = 5) -> None:
    """The part of a pass that is ours alone, on a processor: 1, 4, 16 times the images, 1, 2, 4 times the classes."""
    of_images = {images * times: _peak_of(images * times, classes) for times in (1, 4, 16)}
    of_classes = {classes * times: _peak_of(2 * images, classes * times) for times in (1, 2, 4)}
    for what, found, fixed in (("images", of_images, classes), ("classes", of_classes, 2 * images)):
        first, *_, last = found
        grown = found[last]["core_seconds"] / found[first]["core_seconds"]
        emit(
            f"time of a pass at {last // first} x the {what}, over {last // first} x the time", grown * first / last,
            at_most=1.1, fixed=fixed, core_seconds=[round(one["core_seconds"], 2) for one in found.values()],
            megabytes=[round(one["megabytes"]) for one in found.values()], of=list(found),
        )  # fmt: skip
    if plot is not None:
        draw_growth(plot, {f"images ({classes} classes)": of_images, f"classes ({2 * images} images)": of_classes})


def draw_growth(path: Path, measured: dict[str, dict[int, dict[str, float]]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for place, (what, found) in zip(figure.subplots(1, 2), measured.items(), strict=True):
        place.plot(list(found), [one["core_seconds"] for one in found.values()], "o-", label="seconds of a core")
        first = next(iter(found))
        slope = found[first]["core_seconds"] / first
        place.plot(list(found), [slope * one for one in found], ":", color="0.5", label="in proportion")
        place.set(xlabel=what, ylabel="seconds", ylim=(0, None), xlim=(0, None))
        memory = place.twinx()
        memory.plot(list(found), [one["megabytes"] for one in found.values()], "s--", color="C1", label="peak memory")
        memory.set(ylabel="MB", ylim=(0, None))
        place.legend(loc="upper left", fontsize=7)
        memory.legend(loc="lower right", fontsize=7)
        for axis in (place, memory):
            axis.set_ylim(0, 1.25 * axis.get_ylim()[1])  # room for the legend above both lines
    figure.savefig(path, metadata={"Date": None})


def measure_processes(steps: int = 12) -> None:
    """Training steps a second of one, two and four gloo processes on the same batch, each with one thread.

    By the clock that says something where cores are free.  By the cores' own time it says on any machine what share of
    the work is the step and not the exchange: the efficiency where every process has a core.
    """
    measured = {count: _seconds_of_processes(count, steps) for count in (1, 2, 4)}
    seconds, spent = ({count: one[place] for count, one in measured.items()} for place in (0, 1))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for count in (2, 4):
        gain = seconds[1] / seconds[count]
        emit(
            f"{count} processes against one, a CPU and gloo: speed-up over what {cores} cores allow",
            gain / min(count, cores), speed_up=gain, efficiency=gain / count, cores=cores,
            seconds_a_step=seconds[count], seconds_a_step_of_one=seconds[1],
            efficiency_of_work=spent[1] / spent[count], core_seconds_a_step=spent[count],
            core_seconds_a_step_of_one=spent[1],
        )  # fmt: skip


def _seconds_of_processes(count: int, steps: int) -> tuple[float, float]:
    """A step by the clock, and of all cores together."""
    command = [sys.executable, "-m", "perf.process_step", str(count), str(steps)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    if done.returncode:
        sys.exit(done.stderr)
    clock, cores = done.stdout.split()[-2:]
    return float(clock), float(cores)


def print_peak(images: int, classes: int = CLASSES) -> None:
    """At 256 x 512 the logits and labels of 500 images are 100 MB: kept in memory, they would show."""
    device = torch.device("cpu")
    with tempfile.TemporaryDirectory() as name:
        whole_pass(PooledColours(classes), GeneratedSet(2 * BATCH, (256, 512), Path(name) / "warm", device), classes)
        target = GeneratedSet(images, (256, 512), Path(name), device)
        began, before = time.perf_counter(), time.process_time()
        whole_pass(PooledColours(classes), target, classes)
        seconds, core = time.perf_counter() - began, time.process_time() - before
    print(json.dumps({"megabytes": _own_peak() / 1024**2, "seconds": seconds, "core_seconds": core}))


def _own_peak() -> float:
    """Bytes.  Not getrusage: its peak is carried over from the process that started this one."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def project_cityscapes(sample: int = 16 if CUDA else 4) -> None:
    """Time and label size of a few full-sized images, times 2,975; logits are known exactly; memory does not grow.

    The memory is the GPU's where there is one, else that of the whole process.
    """
    device = torch.device("cuda" if CUDA else "cpu")
    if CUDA:
        torch.cuda.reset_peak_memory_stats()
    network = make_network(device)
    with tempfile.TemporaryDirectory() as name:
        target = GeneratedSet(sample, FULL, Path(name), device)
        began = time.perf_counter()
        whole_pass(network, target)
        seconds = (time.perf_counter() - began) / sample
        labels = sum(path.stat().st_size for path in Path(name).rglob("*.png")) / sample
    memory = torch.cuda.max_memory_allocated() if CUDA else _own_peak()
    logits = logit_bytes(CITYSCAPES, CLASSES, FULL)
    disk = (logits + labels * CITYSCAPES) / 1e9
    emit(
        "disk of a pass over Cityscapes against stored probability maps", CRST_GB / disk, gigabytes=disk,
        rival_gigabytes=CRST_GB, hours=seconds * CITYSCAPES / 3600, logits_gigabytes=logits / 1e9,
        memory_gigabytes=memory / 1e9, measured_on=sample, images=CITYSCAPES, size=list(FULL), classes=CLASSES,
        device="cuda" if CUDA else "cpu", network=NETWORK,
    )  # fmt: skip


def main(options: list[str]) -> None:
    plot = Path(options[options.index("--plot") + 1]) if "--plot" in options else None
    parts = [part for part in ("growth", "processes") if part in options]
    if not parts:
        measure_time()
        measure_memory()
        project_cityscapes()
    if not parts or "growth" in parts:
        measure_growth(plot)
    if not parts or "processes" in parts:
        measure_processes()


if __name__ == "__main__":
    if "--peak" in sys.argv:
        print_peak(int(sys.argv[-2]), int(sys.argv[-1]))
    else:
        main(sys.argv[1:])
