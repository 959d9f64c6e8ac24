"""What an experiment may say, and what is answered when it says something else."""

from pathlib import Path
from typing import Any

import pytest

from endotransfer.config import LARGEST_SEED, Experiment, ModelConfig, as_yaml, experiment_from, read_experiment
from endotransfer.errors import ConfigError
from endotransfer.methods import METHODS, Method, method_config
from endotransfer.methods.resolve import check_needs
from endotransfer.methods.task import Needs


def with_setting(place: str, value: Any) -> Experiment:
    """The smallest experiment with one setting changed."""
    raw: dict[str, Any] = {"data": {"source": "a"}}
    *sections, last = place.split(".")
    here = raw
    for section in sections:
        here = here.setdefault(section, {})
    here[last] = value
    return experiment_from(raw)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("data.source", [], "name at least one folder"),
        ("data.size", 0, "32 to 4096"),
        ("data.size", -3, "32 to 4096"),
        ("data.size", [32, 31], "32 to 4096"),
        ("data.size", 4097, "32 to 4096"),
        ("training.augment.scale", [0, 1], "training.augment.scale.0"),
        ("training.augment.scale", [-1, 1], "training.augment.scale.0"),
        ("training.augment.scale", [1, float("inf")], "training.augment.scale.1"),
        ("training.augment.scale", [2, 1], "the smaller one"),
        ("training.lr", float("inf"), "finite"),
        ("training.precision", 16, "training.precision"),
        ("training.precision", True, "training.precision"),
        ("model.aspp_rates", [], "at least 1 item"),
        ("model.aspp_rates", [6, 0], "model.aspp_rates.1"),
        ("method", [], "valid dictionary"),
        ("method", {1: 2}, "method"),
        ("method.name", ["a"], "method.name"),
        ("seed", LARGEST_SEED + 1, "seed"),
        ("seed", -1, "seed"),
        ("training.batch_source", 10**20, "4096"),
        ("training.batch_target", 10**20, "4096"),
        ("evaluation.batch", 10**20, "4096"),
    ],
)
def test_a_value_out_of_range_is_named(place: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        with_setting(place, value)


@pytest.mark.parametrize(
    ("place", "value"),
    [("data.size", 32), ("data.size", [33, 4096]), ("training.augment.scale", [0.5, 0.5]), ("seed", LARGEST_SEED)],
)
def test_a_value_at_the_border_is_taken(place: str, value: Any) -> None:
    with_setting(place, value)


@pytest.mark.parametrize(("written", "meant"), [(64, "64"), (32, "32"), ("32", "32"), ("bf16", "bf16")])
def test_precision_needs_no_quotes(written: Any, meant: str) -> None:
    assert with_setting("training.precision", written).training.precision == meant


def test_an_experiment_survives_its_own_file(tmp_path: Path) -> None:
    experiment = with_setting("data.source", str(tmp_path / "a"))
    path = tmp_path / "experiment.yaml"
    path.write_text(as_yaml(experiment))
    assert read_experiment(path) == experiment


def test_relative_paths_are_meant_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text("data: {source: here, target: [../there]}\nmodel: {weights: w.safetensors, region_weights: r}")
    experiment = read_experiment(path)
    assert experiment.data.source[0].path == tmp_path / "here"
    assert experiment.data.target[0].path.resolve() == tmp_path.parent / "there"
    assert experiment.data.test is None
    assert experiment.model.weights == tmp_path / "w.safetensors"
    assert experiment.model.region_weights == tmp_path / "r"


def test_settings_reach_sections_that_are_empty_or_short(tmp_path: Path) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text("data: {source: a}\nmethod: source_only\ntraining:\n")
    experiment = read_experiment(path, ["training.lr=0.5", "method.preset=default"])
    assert experiment.training.lr == 0.5
    assert experiment.method == {"name": "source_only", "preset": "default"}


@pytest.mark.parametrize("text", ["name: 2020-13-01", "[" * 1500], ids=["date", "deep"])
def test_text_that_breaks_the_reader_is_not_valid(tmp_path: Path, text: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="not valid YAML"):
        read_experiment(path)
    with pytest.raises(ConfigError, match="its value is not valid YAML"):
        path.write_text("data: {source: a}")
        read_experiment(path, [f"name={text.removeprefix('name: ')}"])


@pytest.mark.parametrize("preset", [["paper"], {"paper": 1}, "fast", 3, 0, False])
def test_a_preset_that_does_not_exist_is_answered_with_those_that_do(preset: Any) -> None:
    with pytest.raises(ConfigError, match=r"has no preset .*; it has multi, single, normals, tags"):
        method_config({"name": "lta", "preset": preset})


def test_without_a_preset_the_first_is_taken() -> None:
    cls, preset, config = method_config({"name": "lta", "preset": None})
    first = next(iter(cls.presets))
    assert preset == first
    assert config == method_config({"name": "lta", "preset": first})[2]


class Moving(Method):
    needs = Needs(live_statistics=True)


Moving.name = "moving"  # only now: a name in the class's body would register it for every test


@pytest.mark.parametrize("norm", ["frozen", "group"])
def test_a_method_that_lives_on_batch_statistics_refuses_fixed_ones(norm: Any) -> None:
    with pytest.raises(ConfigError, match=r"method moving needs batch statistics .*`model\.norm: batch`"):
        check_needs(Moving, ModelConfig(norm=norm))


@pytest.mark.parametrize("norm", ["batch", "per_domain"])
def test_and_takes_moving_ones(norm: Any) -> None:
    check_needs(Moving, ModelConfig(norm=norm))


def test_other_methods_take_any_normalisation() -> None:
    for _, cls in METHODS.items():
        if not cls.needs.live_statistics:
            check_needs(cls, ModelConfig(norm="frozen"))
