"""Timing that can be believed: warm-up, several repeats, the device waited for; one JSON line a figure."""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch


def median_seconds(work: Callable[[], Any], repeats: int = 5, warmup: int = 1) -> float:
    """The median wall time of `work`."""
    for _ in range(warmup):
        work()
    times = []
    for _ in range(repeats):
        _wait()
        began = time.perf_counter()
        work()
        _wait()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def emit(name: str, ratio: float, *, at_least: float | None = None, at_most: float | None = None, **facts: Any) -> None:
    """Print one figure; `holds` says whether it keeps to its bound."""
    bounds = {key: value for key, value in (("at_least", at_least), ("at_most", at_most)) if value is not None}
    holds = (at_least is None or ratio >= at_least) and (at_most is None or ratio <= at_most)
    facts = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in facts.items()}
    line = {"name": name, "ratio": float(f"{ratio:.4g}"), **bounds, **({"holds": holds} if bounds else {}), **facts}
    print(json.dumps(line), flush=True)


def _wait() -> None:
    if torch.cuda.is_available():  # pragma: needs cuda
        torch.cuda.synchronize()
