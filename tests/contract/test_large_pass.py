"""A pass over a large target set: on disk, stated beforehand, and taken up again where it was stopped."""

from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from endotransfer.engine import run as engine
from endotransfer.engine import target_pass as whole_sets
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.target_pass import TargetPasses
from endotransfer.errors import CheckpointError
from endotransfer.methods.cbst import CBST


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything counts as large."""
    original = TargetPasses.__init__

    def init(self: TargetPasses, *args: Any) -> None:
        original(self, *args)
        self.large = 0

    monkeypatch.setattr(TargetPasses, "__init__", init)


def final(run: Path) -> dict[str, torch.Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


def test_it_says_what_it_takes_and_leaves_nothing_behind(large: None, make_experiment: Any, tmp_path: Path) -> None:
    console = Console(record=True, width=200)
    engine.train(make_experiment("tagged", "cbst"), tmp_path / "run", console=console)
    assert "target images keeps 0.0 GB of logits and at most 0.0 GB of labels under" in console.export_text()
    assert not list((tmp_path / "run" / "maps").glob(".*"))


def test_weights_are_those_of_a_pass_in_memory(
    make_experiment: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    engine.train(make_experiment("tagged", "cbst"), tmp_path / "memory")
    request.getfixturevalue("large")
    engine.train(make_experiment("tagged", "cbst"), tmp_path / "disk")
    one, other = final(tmp_path / "memory"), final(tmp_path / "disk")
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_a_pass_that_was_killed_goes_on_and_ends_alike(
    large: None, make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = make_experiment("tagged", "cbst", batch_target=1)  # several batches a pass
    engine.train(experiment, tmp_path / "straight")
    predicted: list[int] = []
    original = CBST.predict_target

    def killed(self: CBST, images: torch.Tensor) -> Any:
        if len(predicted) == 2:  # the first batch and its mirror image
            raise KeyboardInterrupt
        predicted.append(len(images))
        return original(self, images)

    with monkeypatch.context() as patch:
        patch.setattr(CBST, "predict_target", killed)
        with pytest.raises(KeyboardInterrupt):
            engine.train(experiment, tmp_path / "run")
    assert max(list_steps(tmp_path / "run" / "checkpoints")) == 6  # written before the pass, for this
    counted: list[int] = []

    def counting(self: CBST, images: torch.Tensor) -> Any:
        counted.append(len(images))
        return original(self, images)

    monkeypatch.setattr(CBST, "predict_target", counting)
    engine.train(experiment, tmp_path / "run", resume=True)
    target = 8  # images to train on, of twelve; each also in the mirror
    assert sum(predicted) + sum(counted) == 2 * target  # one round, and no image was predicted twice
    one, other = final(tmp_path / "straight"), final(tmp_path / "run")
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_too_little_space_is_said_before_it_starts(
    large: None, make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_sets, "free_space", lambda folder: 10)
    with pytest.raises(CheckpointError, match=r"target pass needs 0.0 GB under .* are free; free some space"):
        engine.train(make_experiment("tagged", "cbst"), tmp_path / "run")
