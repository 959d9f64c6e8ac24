"""What every method must do, in both worlds.  A new file in methods/ is picked up here by itself."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn

from endotransfer.engine import run as engine
from endotransfer.engine.callbacks import TrainingEvent
from endotransfer.engine.checkpoint import list_steps, load_latest
from endotransfer.engine.phase_update import PhaseUpdate
from endotransfer.engine.trainer import Trainer
from endotransfer.errors import ConfigError
from endotransfer.methods import METHODS

CASES = [(name, preset) for name, method in METHODS.items() for preset in method.presets]
ADAPTING = [(name, preset) for name, preset in CASES if not METHODS.get(name).needs.masks_of_target]


def final_weights(run: Path) -> dict[str, Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    differing = [name for name in one if not torch.equal(one[name], other[name])]
    assert not differing


@pytest.fixture(scope="module")
def finished(make_experiment: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """`finished(world, name, preset)`: a run folder, trained once and shared by the tests that only look at it."""
    runs: dict[tuple[str, str, str], Path] = {}

    def get(world: str, name: str, preset: str) -> Path:
        if (world, name, preset) not in runs:
            out = tmp_path_factory.mktemp("runs") / "run"
            engine.train(make_experiment(world, name, preset), out)
            runs[world, name, preset] = out
        return runs[world, name, preset]

    return get


WORLDS = ["tagged", "untagged"]
LIVED_IN = [(w, name, preset) for name, preset in CASES for w in WORLDS[: 1 if METHODS.get(name).needs.tags else 2]]


def quick_first(cases: list[tuple[str, ...]]) -> list[Any]:
    """One case a method, its first preset and first world, is left to `make test-fast`; the others count as slow."""
    seen: set[str] = set()
    marked = []
    for case in cases:
        name = case[-2]
        marked.append(pytest.param(*case, marks=[pytest.mark.slow] if name in seen else []))
        seen.add(name)
    return marked


every_method = pytest.mark.parametrize(("name", "preset"), quick_first(CASES))
in_every_world = pytest.mark.parametrize(("world", "name", "preset"), quick_first(LIVED_IN))


@in_every_world
def test_a_run_leaves_results_a_model_and_a_log(finished: Any, world: str, name: str, preset: str) -> None:
    run = finished(world, name, preset)
    results = json.loads((run / "results.json").read_text())
    assert (results["method"], results["preset"], results["seed"]) == (name, preset, 0)
    assert 0 <= results["miou"] <= 100
    assert len(results["iou"]) == (2 if world == "tagged" else 5)
    assert "not a medical device" in (run / "model" / "README.md").read_text()
    terms = {line.split(",")[3] for line in (run / "metrics.csv").read_text().splitlines()}
    assert any(term.startswith("term/") for term in terms)


@every_method
def test_half_precision_trains_on_a_processor_too(make_experiment: Any, tmp_path: Path, name: str, preset: str) -> None:
    """Recipes ask for bf16, and who has no GPU runs them as they are."""
    experiment = make_experiment("tagged", name, preset, precision="bf16", epochs=2, steps_per_epoch=2)
    results = engine.train(experiment, tmp_path / "run")
    assert results is not None and 0 <= results["miou"] <= 100


@in_every_world
def test_the_saved_model_is_the_predictor(finished: Any, world: str, name: str, preset: str) -> None:
    run = finished(world, name, preset)
    measured = engine.evaluate(run, [_test_folder(run)], split="test")
    assert measured["miou"] == pytest.approx(json.loads((run / "results.json").read_text())["miou"], abs=1e-9)
    for value in load_file(run / "model" / "weights.safetensors").values():
        assert value.isfinite().all()


@in_every_world
def test_same_seed_same_weights(
    finished: Any, make_experiment: Any, tmp_path: Path, world: str, name: str, preset: str
) -> None:
    engine.train(make_experiment(world, name, preset), tmp_path / "again")
    assert_same(final_weights(finished(world, name, preset)), final_weights(tmp_path / "again"))


@every_method
def test_resume_in_mid_epoch_is_bit_identical(
    finished: Any,
    make_experiment: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    preset: str,
) -> None:
    run = tmp_path / "run"
    stop_after = 5  # of 9 steps, 3 to an epoch
    with monkeypatch.context() as patch:
        original = Trainer._save_if_due

        def asked_to_leave(self: Trainer, event: TrainingEvent) -> None:
            self.stop.asked = self.step == stop_after
            original(self, event)

        patch.setattr(Trainer, "_save_if_due", asked_to_leave)
        assert engine.train(make_experiment("tagged", name, preset), run) is None
    assert max(list_steps(run / "checkpoints")) == stop_after
    engine.train(make_experiment("tagged", name, preset), run, resume=True)
    straight = finished("tagged", name, preset)
    assert_same(final_weights(straight), final_weights(run))
    assert (straight / "metrics.csv").read_text() == (run / "metrics.csv").read_text()


@pytest.mark.parametrize(("name", "preset"), quick_first(ADAPTING))
def test_noise_in_target_training_masks_changes_nothing(
    finished: Any, make_experiment: Any, worlds: dict[str, Path], tmp_path: Path, name: str, preset: str
) -> None:
    # The folder keeps its name: a name is part of every image's key, and keys seed the augmentation.
    poisoned = tmp_path / "tagged"
    shutil.copytree(worlds["tagged"], poisoned)
    noise = np.random.default_rng(0)
    for line in (poisoned / "capsule" / "labels.csv").read_text().splitlines()[1:]:
        cells = line.split(",")
        if "train" in cells:
            path = poisoned / "capsule" / "masks" / f"{cells[0]}.png"
            shape = np.asarray(Image.open(path)).shape
            Image.fromarray(noise.integers(0, 256, shape, dtype=np.uint8)).save(path)
    engine.train(make_experiment("tagged", name, preset, data=poisoned), tmp_path / "run")
    assert_same(final_weights(finished("tagged", name, preset)), final_weights(tmp_path / "run"))


@in_every_world
def test_a_phase_moves_only_its_own_networks(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: str, name: str, preset: str
) -> None:
    """Watched from inside: around every phase, no weight of another phase's networks changes or gets a gradient."""
    watched: list[str] = []
    original = PhaseUpdate.update

    def watching(self: PhaseUpdate, phase: str, *args: Any) -> Any:
        others = {
            network: getattr(self.method, network)
            for other, networks in self.method.phases.items()
            for network in networks
            if other != phase and hasattr(self.method, network)
        }
        for module in others.values():
            module.zero_grad(set_to_none=True)
        before = {network: _copy(module) for network, module in others.items()}
        result = original(self, phase, *args)
        for network, module in others.items():
            assert all(parameter.grad is None for parameter in module.parameters())
            assert_same(before[network], _copy(module))
            watched.append(network)
        return result

    monkeypatch.setattr(PhaseUpdate, "update", watching)
    engine.train(make_experiment(world, name, preset, epochs=2, steps_per_epoch=1), tmp_path / "run")
    assert watched or len(METHODS.get(name).phases) == 1


@in_every_world
def test_every_trained_weight_gets_a_finite_gradient(
    make_experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: str, name: str, preset: str
) -> None:
    seen: set[nn.Parameter] = set()
    trained: set[nn.Parameter] = set()
    original = PhaseUpdate.update

    def watching(self: PhaseUpdate, phase: str, *args: Any) -> Any:
        result = original(self, phase, *args)
        for group in self.optimisers[phase].param_groups:
            for parameter in group["params"]:
                trained.add(parameter)
                if parameter.grad is not None:
                    assert parameter.grad.isfinite().all()
                    seen.add(parameter)
        return result

    monkeypatch.setattr(PhaseUpdate, "update", watching)
    engine.train(make_experiment(world, name, preset, epochs=2, steps_per_epoch=1), tmp_path / "run")
    assert trained == seen


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES if METHODS.get(name).needs.tags}))
def test_a_method_that_lives_on_tags_is_refused_without_them(make_experiment: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="needs image tags"):
        engine.train(make_experiment("untagged", name), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def _copy(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def _test_folder(run: Path) -> Path:
    import yaml

    return Path(yaml.safe_load((run / "config.yaml").read_text())["data"]["target"][0]["path"])
