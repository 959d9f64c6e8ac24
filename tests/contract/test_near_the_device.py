"""Training on batches and passes made on the device ends with the very weights of training from the loader."""

from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.engine import run as engine
from endotransfer.engine import training_data
from endotransfer.engine.checkpoint import load_latest


@pytest.mark.parametrize(("name", "preset"), [("tag_transfer", None), ("cbst", "default"), ("adabn", None)])
@pytest.mark.parametrize("task", ["tagged", pytest.param("untagged", marks=pytest.mark.extended)])
def test_same_weights_wherever_batches_are_made(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str, name: str, preset: str | None
) -> None:
    experiment = make_experiment(task, name, preset)  # flips are its only change: then every pixel is the same
    engine.train(experiment, tmp_path / "loader")
    monkeypatch.setattr(training_data, "fits_on_gpu", lambda *_: True)
    engine.train(experiment, tmp_path / "device")
    one, other = (load_latest(tmp_path / run / "checkpoints")[0].tensors["weights"] for run in ("loader", "device"))
    assert all(torch.equal(one[key], other[key]) for key in one)
