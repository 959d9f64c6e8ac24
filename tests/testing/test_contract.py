"""The contract notices methods that break it, and says which promise is broken."""

import os
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from endotransfer.batch import Batch
from endotransfer.engine.run import train
from endotransfer.errors import ConfigError
from endotransfer.losses.supervised_terms import source_terms
from endotransfer.methods.base import METHODS, Memo, Method
from endotransfer.testing import MethodContract
from endotransfer.testing.cases import Case
from endotransfer.testing.fixtures import MakeExperiment, TrainedRuns


class Plain(Method):
    summary = "for this test"

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        assert batch.source is not None
        return source_terms(batch.source, self.segmenter(batch.source.images))


class Random(Plain):
    """Draws from a generator that nobody seeds."""

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        weight = 1 + int.from_bytes(os.urandom(2)) / 2**16
        return {name: weight * term for name, term in super().losses(phase, batch, memo).items()}


class Forgetful(Plain):
    """Keeps a count where no checkpoint sees it."""

    count = 0

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        self.count += 1
        return {name: self.count * term for name, term in super().losses(phase, batch, memo).items()}


class Straying(Plain):
    """A critic whose phase moves the segmenter, and a weight that nothing teaches."""

    phases = {"net": ("segmenter",), "critic": ("critic",)}  # noqa: RUF012

    def networks(self) -> dict[str, nn.Module]:
        critic = nn.Linear(1, 1)
        critic.register_parameter("idle", nn.Parameter(torch.zeros(1)))
        return super().networks() | {"critic": critic}

    def losses(self, phase: str, batch: Batch, memo: Memo) -> dict[str, Tensor]:
        if phase == "net":
            return super().losses(phase, batch, memo)
        with torch.no_grad():
            next(self.segmenter.parameters()).add_(1e-3)
        critic = self.get_submodule("critic")
        return {"critic": critic(torch.ones(1, 1)).square().sum()}


class WithoutSpec(Plain):
    def networks(self) -> dict[str, nn.Module]:
        segmenter = self.plain_segmenter()
        del segmenter.spec
        return {"segmenter": segmenter}


def case_of(cls: type[Method], monkeypatch: pytest.MonkeyPatch) -> Case:
    """The method's only case, known to the registry for the length of a test."""
    name = cls.__name__.lower()
    monkeypatch.setitem(METHODS._things, name, cls)
    monkeypatch.setattr(cls, "name", name, raising=False)
    return Case("tagged", name, "default")


@pytest.mark.parametrize(
    ("cls", "broken"),
    [(Random, "the same seed gave other weights"), (Forgetful, "a resumed run ended with other weights")],
)
def test_a_run_that_cannot_be_repeated_is_noticed(
    trained: TrainedRuns, make_experiment: MakeExperiment, tasks: dict[str, Path], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, cls: type[Method], broken: str,
) -> None:  # fmt: skip
    case = case_of(cls, monkeypatch)
    with pytest.raises(AssertionError, match=broken):
        MethodContract().test_a_second_run_is_bit_identical(trained, make_experiment, tasks, case, tmp_path)


def test_a_phase_that_strays_and_a_weight_without_a_gradient_are_noticed(
    trained: TrainedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = trained.watched(case_of(Straying, monkeypatch))
    assert len(watch.strayed) == 1 and next(iter(watch.strayed)).startswith("critic: segmenter.")
    assert watch.trained - watch.with_gradient == {"critic.idle"}


def test_a_network_that_could_not_be_loaded_again_is_refused_before_the_first_step(
    make_experiment: MakeExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(WithoutSpec, monkeypatch)
    with pytest.raises(ConfigError, match=r"withoutspec predicts with a Segmenter.*`spec`"):
        train(make_experiment("tagged", case.method), tmp_path / "run")
    assert not (tmp_path / "run").exists()
