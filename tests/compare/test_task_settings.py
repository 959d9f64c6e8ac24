"""Settings, flat, and where rows or runs differ."""

from typing import Any

import pytest

from endotransfer.compare.task_settings import defaults_with, differing, method_settings, odd_settings, task_settings


def test_what_carries_a_run_does_not_count_and_of_a_path_its_last_name(make_experiment: Any) -> None:
    experiment = make_experiment("tagged", "source_only", epochs=3).with_settings(
        ["training.workers=7", "model.weights=/a/b/c.safetensors", "model.region_weights=/d/e", "seed=4", "name=n"]
    )
    flat = task_settings(experiment)
    assert flat["training.epochs"] == 3 and flat["model.weights"] == "c.safetensors"
    assert flat["model.region_weights"] == "e"
    assert not {"training.workers", "seed", "name"} & {*flat}
    assert all("/" not in str(place) for place in flat)
    sources = flat["data.source"]
    assert isinstance(sources, list) and all("/" not in str(folder["path"]) for folder in sources)  # type: ignore[index,call-overload]


def test_a_preset_is_its_values(make_experiment: Any) -> None:
    lta = method_settings(make_experiment("tagged", "lta"))
    assert lta["method.name"] == "lta" and "method.preset" not in lta


def test_defaults_are_those_of_an_experiment() -> None:
    assert defaults_with("resnet50")["training.lr"] == 1e-4 and "data.source" not in defaults_with("resnet50")


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ([{"training.epochs": 5}], [{"training.epochs": 5}], {}),
        ([{"training.epochs": 5}], [{}], {"training.epochs": [[5], [10]]}),
        ([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 2}], {"a": [[1, 2], [1, 2]]}),  # a side that disagrees with itself
        ([{"a": [1, 2]}], [{"a": [1, 3]}], {"a": [[[1, 2]], [[1, 3]]]}),
        ([{"method.gamma": 1}], [{}], {"method.gamma": [[1], ["default"]]}),
    ],
)
def test_two_sides(first: Any, second: Any, found: Any) -> None:
    assert differing(first, second) == found


def test_most_rows_are_the_rule() -> None:
    rows: Any = {"a": [{"x": 1}], "b": [{"x": 2}, {"x": 2}], "c": [{"x": 1}, {"x": 3}], "d": [{"x": 1}], "e": []}
    assert odd_settings(rows) == {"b": {"x": [2, 1]}, "c": {"x": [3, 1]}}
