"""results.json as an object: what goes in comes out, in order; a damaged file is one sentence."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.results import Results

CONTENT: dict[str, JsonValue] = {
    "method": "lta", "preset": "multi", "variant": "x", "seed": 3, "classes": ["normal", "a.b"], "date": "2026-11-17",
    "version": "1", "name": "n", "images": 2, "unlabelled_images": 0, "iou": {"normal": 90.0, "a.b": None},
    "miou": 90.0, "dice_lesion": None, "absent_classes": ["a.b"], "lesion_wise": {"found": 1, "rule": "r"},
    "tags": None, "unheard_of": 7, "by_finding": {"none": {"images": 1, "miou": 1.5}},
    "intervals": {"level": 95.0, "resamples": 9, "groups": 2, "miou": [1.0, 2.0], "iou": {"normal": [1.0, 2.0]}},
    "tag_evidence": {"note": "t", "images": 3}, "pranet": None,
    "cost": {"seconds": 1.5, "steps": 4, "conversions": {"c": 1}, "torch": "2"},
    "local_labels": {"chosen": "segmenter"},
    "remarks": ["so."], "flips": True,
}  # fmt: skip


def test_a_file_is_read_and_written_unchanged(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps(CONTENT))
    results = Results.read(tmp_path / "results.json")
    results.write(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    assert again == CONTENT and list(again) == list(CONTENT)
    assert list(again["intervals"]) == ["level", "resamples", "groups", "miou", "iou"]
    assert Results.read(tmp_path / "again.json") == results


def test_figures_are_found_by_name() -> None:
    results = Results.model_validate(CONTENT)
    assert results.figure("miou") == 90.0 and results.figure("iou.normal") == 90.0
    assert results.figure("lesion_wise.found") == 1 and results.figure("unheard_of") == 7
    assert [results.figure(name) for name in ("iou", "iou.a.b", "tags.auroc", "lesion_wise.rule", "no")] == [None] * 5
    assert results.interval("miou") == results.interval("iou.normal") == (1.0, 2.0)
    assert results.interval("iou") is results.interval("iou.a.b") is None
    assert results["iou"]["normal"] == 90.0 and "miou" in results and "no" not in results
    assert results.by_finding["none"].figure("miou") == 1.5


def test_what_stands_behind_the_cost_is_the_method_s_own() -> None:
    results = Results.model_validate(CONTENT)
    assert results.findings == {"local_labels": {"chosen": "segmenter"}} and results.remarks == ["so."]
    assert "unheard_of" in results.figures and results.cost is not None and results.cost.steps == 4


def test_what_can_be_no_figure_is_no_damage() -> None:
    results = Results.model_validate({"method": "lta", "deep": {"a": {"b": 1}}, "miou": 1.0})
    assert results.findings == {"deep": {"a": {"b": 1}}} and list(results.figures) == ["miou"]


@pytest.mark.parametrize(
    ("preset", "flips", "name"),
    [("default", False, "lta"), ("multi", False, "lta (multi)"), ("multi", True, "lta (multi) with flips")],
)
def test_a_system_is_its_method_and_preset(preset: str, flips: bool, name: str) -> None:
    assert Results(method="lta", preset=preset, flips=flips).system == name


@pytest.mark.parametrize(
    "text", ["", "[]", "{half", "{}", '{"method": 3}', '{"method": "lta", "seed": "x"}', "[" * 9999]
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(CheckpointError, match=r"results\.json is damaged: .*; measure the run again") as caught:
        Results.read(path)
    assert "\n" not in str(caught.value)
    assert Results.read_if_whole(path) is None


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"has no results\.json; name the folder of a finished run"):
        Results.read(tmp_path / "results.json")


def test_a_file_that_cannot_be_written_is_the_caller_s_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot write"):
        Results(method="lta").write(tmp_path / "none" / "results.json", ConfigError)
