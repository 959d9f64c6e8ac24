"""Tables that stay readable at 80 columns."""

import io
from typing import Any

import pytest
from rich.console import Console

from endotransfer.report.tables import as_markdown, heads, print_results, row_of
from endotransfer.results import Results

SYSTEMS = (("source_only", "default"), ("semantic_transfer", "paper"), ("semantic_transfer", "robust"))


def result(method: str, preset: str = "default", **more: Any) -> Results:
    raw = {
        "method": method, "preset": preset, "seed": 3, "images": 240, "iou_normal": 97.123, "iou_lesion": 43.5,
        "iou_lesion_within": 48.25, "normal_painted": 0.125, "miou": 70.31, "dice_lesion": 60.5,
        "tags": {"auroc": 99.95},
        "intervals": {"groups": 12, "group_kinds": {"capsule": {"patient": 12}}, "miou": [65.24, 75.5]},
    }  # fmt: skip
    return Results.model_validate(raw | more)


def printed(results: list[Results], width: int) -> str:
    text = io.StringIO()
    print_results(results, Console(file=text, width=width), title="Figures")
    return text.getvalue()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_every_figure_is_there_in_one_line_a_system(width: int) -> None:
    lines = printed([result(*system) for system in SYSTEMS], width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[1].split("  ")[0].strip() == "system"
    assert all(head in lines[1] for head in heads())
    robust = [line for line in lines if "240" in line][-1]
    figures = ["3", "240", "97.12", "43.50", "48.25", "0.12", "70.31", "65.2-75.5", "60.50", "99.95"]
    assert robust.split()[-len(figures) :] == figures


def test_a_narrow_terminal_breaks_names_but_cuts_no_figure() -> None:
    text = printed([result("semantic_transfer", "robust")], 60)
    assert "…" not in text
    assert all(figure in text for figure in ("97.12", "43.50", "48.25", "0.12", "70.31", "65.2-75.5"))
    assert "60.50" not in text  # the Dice is in results.json


def test_what_does_not_exist_is_a_dash() -> None:
    empty = {"method": "source_only", "preset": "default", "seed": 0, "miou": None, "tags": None, "intervals": None}
    assert row_of(Results.model_validate(empty)) == ["source_only", "0", *["-"] * 9]


def test_markdown_has_the_same_rows() -> None:
    results = [result(*system) for system in SYSTEMS]
    head, rule, *rows = as_markdown(results).splitlines()[: 2 + len(SYSTEMS)]
    assert head.strip("| ").split(" | ") == heads()
    assert rule.count("|") == head.count("|")
    assert [row.strip("| ").split(" | ") for row in rows] == [row_of(one) for one in results]


def test_the_table_says_what_its_intervals_rest_on() -> None:
    text = " ".join(printed([result("lta")], 80).split())
    assert "Intervals are over test images (12 patients (capsule)), not over seeds: other seeds may differ." in text
    assert "Intervals are over test images (12 patients (capsule))" in as_markdown([result("lta")])
    assert "Intervals" not in printed([result("lta", intervals=None)], 80)


def test_a_collapsed_model_is_said() -> None:
    text = printed([result("lta"), result("cbst", collapsed="predicts no lesion at all")], 80)
    assert "cbst, seed 3: predicts no lesion at all." in text and "lta, seed 3:" not in text


def test_without_masks_the_tags_speak() -> None:
    agreement = {"note": "tags only", "lesion_found_in_lesion_images": 81.25, "images": 3}
    text = printed([result("source_only", miou=None, tag_evidence=agreement)], 80)
    assert "tags only" in text
    assert "lesion found in lesion images: 81.2 %" in text
    assert "What tags alone" not in printed([result("source_only", tag_evidence=agreement)], 80)
