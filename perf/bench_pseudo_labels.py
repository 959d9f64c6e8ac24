"""Speed of Algorithms 1 and 2 against sorting and against the literal twins of the tests.

Run from the root of the repository: `python -m perf pseudo_labels`.
"""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.pseudo_labels.thresholds import ThresholdState
from endotransfer.pseudo_labels.vote import vote_in_place, vote_synchronously
from perf.timing import emit, median_seconds
from tests import literal

PIXELS = 78_000_000  # 300 images of 512 x 512, as many as the paper's target set has
CHUNK = 4 * 512 * 512  # a batch of four
SIDE = 512
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]

Chunks = list[tuple[Tensor, Tensor]]


def measure_state() -> None:
    size = ThresholdState(19, device="meta").nbytes
    emit("state of the streaming thresholds, 19 classes, in MB", size / 1e6, at_most=50)


def measure_thresholds() -> None:
    """Counting 78 million predictions of two classes and finding their thresholds, against sorting them."""
    random = np.random.default_rng(0)
    values = np.abs(random.normal(6, 3, PIXELS).astype(np.float32))
    predicted = (random.random(PIXELS, dtype=np.float32) < 0.1).astype(np.uint8)
    sorting = median_seconds(lambda: np.sort(values), repeats=3, warmup=0)
    partition = median_seconds(lambda: np.partition(values, int(0.75 * PIXELS)), repeats=3, warmup=0)
    for device in DEVICES:
        both = (torch.split(torch.from_numpy(array).to(device), CHUNK) for array in (values, predicted))
        chunks = list(zip(*both, strict=True))
        seconds = median_seconds(partial(thresholds_of, chunks))
        emit(
            "streaming thresholds", sorting / seconds, at_least=10, seconds=seconds, rival="np.sort, 78e6 float32",
            rival_seconds=sorting, against_np_partition=partition / seconds, device=device,
        )  # fmt: skip


def thresholds_of(chunks: Chunks) -> Tensor:
    state = ThresholdState(2, device=chunks[0][0].device)
    for values, predicted in chunks:
        state.count(values, predicted)
    return state.thresholds(0.25)


def measure_voting() -> None:
    """One image of 512 x 512, two classes, half unlabelled, super-pixels of 16 x 16."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    superpixels = (rows // 16 * (SIDE // 16) + columns // 16).astype(np.int32)
    truth = (rows // 40 + columns // 40) % 2
    labels = np.where(np.random.default_rng(0).random((SIDE, SIDE)) < 0.5, IGNORE, truth).astype(np.uint8)
    lists = labels.tolist(), superpixels.tolist()

    rival = median_seconds(lambda: literal.algorithm_2([list(row) for row in lists[0]], lists[1], 2), 3, warmup=0)
    seconds = median_seconds(lambda: vote_in_place(labels.copy(), superpixels, 2), 31)
    emit_voting("in place", seconds, rival, 100, "cpu")

    rival = median_seconds(lambda: literal.algorithm_2_synchronous(*lists, 2), 3, warmup=0)
    for device, at_least in zip(DEVICES, (100, 1000), strict=False):
        batch = [torch.from_numpy(array).to(device).unsqueeze(0) for array in (labels, superpixels)]
        seconds = median_seconds(partial(vote_synchronously, batch[0], batch[1], 2), 31)
        emit_voting("synchronous", seconds, rival, at_least, device)


def emit_voting(form: str, seconds: float, rival: float, at_least: float, device: str) -> None:
    emit(
        f"super-pixel voting, {form}", rival / seconds, at_least=at_least, seconds=seconds,
        rival="its literal twin in Python", rival_seconds=rival, device=device,
    )  # fmt: skip


def main(options: list[str]) -> None:
    measure_state()
    measure_thresholds()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the twin has; and sixty small steps wait for a second thread more than it helps
    measure_voting()
    torch.set_num_threads(threads)


if __name__ == "__main__":
    main([])
