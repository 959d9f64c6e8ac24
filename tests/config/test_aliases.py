"""Settings under their old names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from endotransfer.compare.suite import suite_from
from endotransfer.config import aliases, experiment_from, read_experiment, rename_keys, tell_renamed
from endotransfer.errors import ConfigError

NOTE = "note: training.head_lr is now called training.head_lr_factor\n"


@pytest.fixture(autouse=True)
def _nothing_told_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(aliases, "_told", set())
    yield


def test_an_old_name_works_and_the_new_one_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text("data: {source: a}\ntraining: {head_lr: 3}")
    assert read_experiment(path).training.head_lr_factor == 3
    assert read_experiment(path).training.head_lr_factor == 3
    captured = capsys.readouterr()
    assert captured.err == NOTE
    assert captured.out == ""


def test_today_s_name_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    experiment_from({"data": {"source": "a"}, "training": {"head_lr_factor": 3}})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("written", ["head_lr", "head_lr_factor"])
@pytest.mark.parametrize("key", ["head_lr", "head_lr_factor"])
def test_set_wins_over_the_file_under_either_name(tmp_path: Path, written: str, key: str) -> None:
    path = tmp_path / "experiment.yaml"
    path.write_text(f"data: {{source: a}}\ntraining: {{{written}: 3}}")
    assert read_experiment(path, [f"training.{key}=7"]).training.head_lr_factor == 7


def test_both_names_at_once_are_refused() -> None:
    raw = {"data": {"source": "a"}, "training": {"head_lr": 3, "head_lr_factor": 4}}
    with pytest.raises(ConfigError, match=r"^experiment sets both .*head_lr and .*head_lr_factor, .* keep .*factor\.$"):
        experiment_from(raw)


def test_the_rows_and_the_phantom_of_a_suite_are_renamed_too(tmp_path: Path) -> None:
    old, new = {"training": {"head_lr": 2}}, {"training": {"head_lr_factor": 2}}
    renamed = rename_keys({"systems": ["lta", {"name": "cl", **old}], "phantom": old, **old})
    assert renamed == {"systems": ["lta", {"name": "cl", **new}], "phantom": new, **new}


def test_a_row_s_old_name_wins_over_the_suite_s_new_one(tmp_path: Path) -> None:
    raw = {"data": {"source": "a"}, "training": {"head_lr_factor": 3}}
    suite = suite_from({**raw, "systems": [{"name": "source_only", "training": {"head_lr": 5}}]}, tmp_path)
    assert suite.experiment(suite.rows[0], 0, tmp_path).training.head_lr_factor == 5


def test_the_mapping_itself_is_left_alone() -> None:
    raw = {"training": {"head_lr": 2}}
    rename_keys(raw)
    assert raw == {"training": {"head_lr": 2}}


def test_a_key_below_the_phantom_is_known_too() -> None:
    assert aliases.current_key("phantom.training.head_lr") == "phantom.training.head_lr_factor"


def test_a_method_tells_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        tell_renamed("method.believe", "method.lesion_labeller")
    assert capsys.readouterr().err == "note: method.believe is now called method.lesion_labeller\n"
