"""A pass over a large target set: its time against bare inference, its memory against the set's size, and what
Cityscapes would take.

On a GPU with a ResNet-50 at 512 x 1024; elsewhere a ResNet-18 at 128 x 256 stands in.
"""

import json
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

    def __init__(self, images: int, size: tuple[int, int], folder: Path, device: torch.device) -> None:
        self.count, self.total, self.size, self.device = images, images, size, device
        self.cache, self.maps = LogitCache(folder / "logit_cache"), MapStore(folder / "maps")
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


def make_network(device: torch.device) -> torch.nn.Module:
    from endotransfer.models.segmenters.segmenter import SegmenterSpec  # here, since timm takes its share of memory

    torch.manual_seed(0)
    model = ModelConfig(backbone=NETWORK, pretrained=False, norm="frozen", multi_grid=None, aspp_rates=(6, 12, 18))
    return SegmenterSpec(model=model, classes=CLASSES, tags=False).build().to(device).eval()


class PooledColours(torch.nn.Module):
    """A network without weight: colours at 1/8, mixed to class scores.  It leaves memory to the pass."""

    def forward(self, images: Tensor) -> SegOutput:
        pooled = torch.nn.functional.avg_pool2d(images, 8)
        mix = torch.linspace(-9, 9, 3 * CLASSES).view(CLASSES, 3, 1, 1)
        return SegOutput(torch.nn.functional.conv2d(pooled - 0.5, mix), None, pooled)


@torch.inference_mode()
def bare_inference(network: torch.nn.Module, target: GeneratedSet) -> None:
    """What anybody would do to look at predictions: forward, up-sample, take the largest."""
    for batch in target:
        network(batch.images).at(target.size).argmax(1).to(torch.uint8).cpu()


def whole_pass(network: torch.nn.Module, target: GeneratedSet) -> None:
    def predict(images: Tensor) -> SegOutput:
        output: SegOutput = network(images)
        return output

    with torch.inference_mode():
        label_target_set(predict, target, CLASSES, 0.3, device=target.device)
    target.maps.flush()


def seconds_of(work: str, images: int, size: tuple[int, int]) -> float:
    device = torch.device("cuda" if CUDA else "cpu")
    network = make_network(device)
    with tempfile.TemporaryDirectory() as name:
        target = GeneratedSet(images, size, Path(name), device)
        task = {"bare": bare_inference, "pass": whole_pass}[work]
        task(network, GeneratedSet(2 * BATCH, size, Path(name) / "warm", device))
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
        "threshold and label pass against bare inference", ours / rival, at_most=1.25, seconds=ours,
        rival_seconds=rival, rival="forward, up-sample, argmax", images=images, size=list(SIZE), classes=CLASSES,
        device="cuda" if CUDA else "cpu", network=NETWORK,
    )  # fmt: skip


def measure_memory() -> None:
    """Each in a process of its own: a peak cannot be taken back."""
    peaks = {images: _peak_of(images) for images in (50, 500)}
    emit(
        "peak memory of a pass, 500 images against 50", peaks[500] / peaks[50], at_most=1.05,
        megabytes=peaks[500], rival_megabytes=peaks[50],
    )  # fmt: skip


def _peak_of(images: int) -> float:
    command = [sys.executable, "-m", "perf.bench_scale", "--peak", str(images)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["megabytes"])


def print_peak(images: int) -> None:
    """At 256 x 512 the logits and labels of 500 images are 100 MB: kept in memory, they would show."""
    with tempfile.TemporaryDirectory() as name:
        whole_pass(PooledColours(), GeneratedSet(images, (256, 512), Path(name), torch.device("cpu")))
    print(json.dumps({"megabytes": _own_peak() / 1024**2}))


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


if __name__ == "__main__":
    if "--peak" in sys.argv:
        print_peak(int(sys.argv[-1]))
    else:
        measure_time()
        measure_memory()
        project_cityscapes()
