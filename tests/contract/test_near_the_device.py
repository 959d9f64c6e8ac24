"""Training on batches and passes made on the device ends with the very weights of training from the loader."""

from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.data.pipeline.device_batch_source import DeviceBatchSource
from endotransfer.data.pipeline.device_pass_set import DevicePassSet
from endotransfer.engine import run as engine
from endotransfer.engine import training_data as feeding
from endotransfer.engine.checkpoint import load_latest

CPU = torch.device("cpu")


def on_device(device: Any, feed: Any, pass_set: Any) -> Any:
    return DeviceBatchSource(feed, CPU), None if pass_set is None else DevicePassSet(pass_set, CPU)


@pytest.mark.parametrize(("name", "preset"), [("semantic_transfer", "robust"), ("cbst", "default"), ("adabn", None)])
@pytest.mark.parametrize("world", ["tagged", "untagged"])
def test_same_weights_wherever_batches_are_made(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: str, name: str, preset: str | None
) -> None:
    experiment = make_experiment(world, name, preset)  # flips are its only change: then every pixel is the same
    engine.train(experiment, tmp_path / "loader")
    monkeypatch.setattr(feeding, "near_to", on_device)
    engine.train(experiment, tmp_path / "device")
    one, other = (load_latest(tmp_path / run / "checkpoints")[0].tensors["weights"] for run in ("loader", "device"))
    assert all(torch.equal(one[key], other[key]) for key in one)
