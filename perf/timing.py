"""Timing that can be believed: warm-up, several repeats, the device waited for; one JSON line a figure."""

import json
import statistics
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

SIDE = {"cuda": 8192, "cpu": 1024}  # of the matrices whose product gives a machine's rate


def median_seconds(work: Callable[[], Any], repeats: int = 5, warmup: int = 1, run: int = 1) -> float:
    """The median wall time of `work`; with `run`, of one of so many in a row, as a loop makes them."""
    for _ in range(warmup):
        work()
    times = []
    for _ in range(repeats):
        wait_for_device()
        began = time.perf_counter()
        for _ in range(run):
            work()
        wait_for_device()
        times.append((time.perf_counter() - began) / run)
    return statistics.median(times)


def alternating_seconds(
    works: dict[str, Callable[[], Any]], rounds: int = 3, each: int = 10, run: int = 1
) -> dict[str, float]:
    """The least of `rounds` medians of each, measured in turn, so that a busy machine is busy for all of them."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            least[name] = min(least[name], median_seconds(work, each, warmup=2, run=run))
    return least


def emit(name: str, ratio: float, *, at_least: float | None = None, at_most: float | None = None, **facts: Any) -> None:
    """Print one figure; `verdict` says whether it keeps to its bound."""
    bounds: dict[str, Any] = {
        key: value for key, value in (("at_least", at_least), ("at_most", at_most)) if value is not None
    }
    if bounds:
        holds = (at_least is None or ratio >= at_least) and (at_most is None or ratio <= at_most)
        bounds["verdict"] = "holds" if holds else "does not hold"
    facts = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in facts.items()}
    print(json.dumps({"name": name, "ratio": float(f"{ratio:.4g}"), **bounds, **facts}), flush=True)


def skip(name: str, reason: str) -> None:
    """Print that a figure cannot be measured here."""
    print(json.dumps({"name": name, "skipped": reason}), flush=True)


@cache
def matrix_rate() -> float:
    """FLOP a second of a large matrix product: bf16 on a GPU, float32 on a processor.  What the best code reaches."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    side, kind = SIDE[device], torch.bfloat16 if device == "cuda" else torch.float32
    one, other = (torch.rand(side, side, device=device, dtype=kind) for _ in range(2))
    return 2 * side**3 / min(median_seconds(lambda: one @ other, repeats=3, warmup=2) for _ in range(5))


def wait_for_device() -> None:
    if torch.cuda.is_available():  # pragma: needs cuda
        torch.cuda.synchronize()
