"""A benchmark in small for the tests of the report: two systems trained for a few steps, one named in malice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.config import Experiment
from endotransfer.engine.run import train

HOSTILE = '<img src=x onerror="alert(1)"> & $\\frac{1}$'
SYSTEMS = {"source_only": ("source_only", None), HOSTILE: ("tag_transfer", None)}


def build_study(folder: Path, make_experiment: Callable[..., Experiment]) -> dict[str, Any]:
    """Train into `folder`/runs and write results.json as a benchmark does; returns its content."""
    cells = []
    for place, (label, (method, preset)) in enumerate(SYSTEMS.items()):
        for seed in (0, 1) if place == 0 else (0,):
            run = f"row{place}-seed{seed}"
            experiment = make_experiment("tagged", method, preset).model_copy(update={"seed": seed})
            results = train(experiment, folder / "runs" / run)
            assert results is not None
            cells.append({**results.to_dict(), "label": label, "run": run, "digest": "0"})
    summary = [{"label": HOSTILE, "difference": 3.25, "interval": [1.5, 4.75]}]
    written = {"suite": {"name": HOSTILE, "reference": "source_only"}, "summary": summary, "cells": cells}
    (folder / "results.json").write_text(json.dumps(written))
    return written


def sweep_cells() -> list[BenchmarkCell]:
    """Two settings, two values each, two seeds; the best is at mu = 10, eta = 0.3; one cell failed."""
    values = {(1.0, 0.1): (50, 52), (1.0, 0.3): (54, 56), (10.0, 0.1): (None, None), (10.0, 0.3): (70, 71)}
    head = {"method": "semantic_transfer", "preset": "paper", "classes": ["normal", "lesion"]}
    raw = [
        {**head, "label": f"mu={mu}, eta={eta}", "seed": seed, "grid": {"method.mu": mu, "method.eta": eta},
         "miou": miou, "iou_normal": miou, "iou_lesion": miou}
        for (mu, eta), scores in values.items()
        for seed, miou in enumerate(scores)
    ]  # fmt: skip
    return [BenchmarkCell.model_validate(cell) for cell in raw]
