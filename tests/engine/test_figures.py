"""Figures of a method's own that are no losses: logged as means over a step's batches, and asked for only then."""

from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from endotransfer.batch import Batch
from endotransfer.engine.run import train
from endotransfer.engine.run_log import read_log
from endotransfer.losses.supervised_terms import source_terms
from endotransfer.methods.base import METHODS, Memo, Method
from endotransfer.testing.fixtures import MakeExperiment


class Brightness(Method):
    """Says how bright its source images are, and remembers what it was shown."""

    summary = "for this test"
    seen: ClassVar[list[float]] = []
    asked: ClassVar[list[int]] = []

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        assert batch.source is not None
        memo["brightness"] = batch.source.images.mean()
        self.seen.append(memo["brightness"].item())
        return source_terms(batch.source, self.segmenter(batch.source.images))

    def figures(self, memo: Memo) -> dict[str, Tensor]:
        assert not torch.is_grad_enabled()
        self.asked.append(self.progress.step)
        return {"brightness": memo["brightness"]}


def figures_of(run: Path) -> dict[int, float]:
    return {row.step: row.value for row in read_log(run) if row.name.startswith("figure/")}


def test_they_are_means_over_the_batches_of_a_logged_step(
    make_experiment: MakeExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS._things, "brightness", Brightness)
    monkeypatch.setattr(Brightness, "name", "brightness", raising=False)
    shape: dict[str, Any] = {"epochs": 1, "steps_per_epoch": 5, "accumulate": 2, "log_every": 2}
    train(make_experiment("tagged", "brightness", **shape), tmp_path / "run")
    by_step = defaultdict(list)
    for batch, value in enumerate(Brightness.seen):
        by_step[batch // 2 + 1].append(value)
    assert figures_of(tmp_path / "run") == pytest.approx({step: sum(by_step[step]) / 2 for step in (2, 4, 5)})
    assert Brightness.asked == [1, 1, 3, 3, 4, 4]
    assert {row.name for row in read_log(tmp_path / "run") if "brightness" in row.name} == {"figure/brightness"}


def test_a_method_has_none_unless_it_says_so(make_experiment: MakeExperiment, tmp_path: Path) -> None:
    train(make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1), tmp_path / "run")
    assert not figures_of(tmp_path / "run")
