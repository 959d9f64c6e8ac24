"""Experiments with former settings go on working, those of `semantic_transfer/robust` as `tag_transfer`, or say why."""

import pytest

from endotransfer.errors import ConfigError
from endotransfer.methods.resolve import method_config

OLD = {"name": "semantic_transfer", "preset": "robust"}


@pytest.mark.parametrize(
    ("settings", "present"),
    [
        ({}, {}),
        ({"believe": "judge"}, {"lesion_labeller": "auto"}),
        ({"believe": "segmenter", "lesion_rule": "evidence"}, {"lesion_labeller": "segmenter"}),
        ({"lesion_rule": "set"}, {"lesion_labeller": "dataset_threshold"}),
        ({"tag_rule": "none", "target_balance": "pixels"}, {"fill_normal": False, "balance_by_tag": False}),
    ],
)
def test_former_settings(settings: dict[str, object], present: dict[str, object]) -> None:
    cls, preset, config = method_config(OLD | settings)
    assert (cls.name, preset) == ("tag_transfer", "default")
    assert config == cls.Config.model_validate(present)


def test_what_is_gone_or_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="voting is no part of tag_transfer"):
        method_config(OLD | {"voting": "none"})
    with pytest.raises(ConfigError, match="gamma cannot be set for tag_transfer"):
        method_config(OLD | {"gamma": 0.5})
    with pytest.raises(ConfigError, match="same setting"):
        method_config(OLD | {"believe": "judge", "lesion_labeller": "auto"})


@pytest.mark.parametrize(
    ("method", "old", "words"),
    [
        ("cbst", {"warmup_epochs": 1}, "warmup_epochs is no part of cbst any more; .* source_share"),
        ("cbst", {"preset": "tags", "tag_weight": 0.5}, "tag_weight is no part of cbst .* missed_weight"),
        ("lta", {"tag_weight": 0.5}, "tag_weight is no part of lta .* normal_weight"),
        ("advent", {"tag_weight": 0.5}, "tag_weight is no part of advent .* normal_weight"),
        ("tag_transfer", {"local_steps": 100}, "local_steps is no part of tag_transfer .* a constant, 400"),
        ("tag_transfer", {"warmup_epochs": 0}, "warmup_epochs is no part of tag_transfer .* a constant, 1"),
        ("fda", {"beta": 0.05, "betas": [0.05]}, "same setting"),
    ],
)
def test_settings_that_single_methods_had_are_refused_with_what_there_is_now(
    method: str, old: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        method_config({"name": method} | old)


def test_settings_that_still_mean_the_same_go_on_working() -> None:
    assert method_config({"name": "fda", "beta": 0.05}) == method_config({"name": "fda", "betas": [0.05]})
    assert method_config({"name": "tag_transfer", "local_steps": 400}) == method_config({"name": "tag_transfer"})
    assert method_config({"name": "tag_transfer", "warmup_epochs": 1}) == method_config({"name": "tag_transfer"})
    assert method_config({"name": "lta", "tag_weight": 0.0}) == method_config({"name": "lta"})


def test_cycadas_share_of_epochs_is_a_number_of_steps_now() -> None:
    _, _, config = method_config({"name": "cycada", "translation_share": 0})
    assert config.model_dump()["translation_steps"] == 0
    with pytest.raises(
        ConfigError, match=r"method\.translation_steps now, a number of steps; write for example 5000\."
    ):
        method_config({"name": "cycada", "translation_share": 0.3})
