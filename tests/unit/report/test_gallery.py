"""Which images are shown, and by which number."""

import json
from pathlib import Path
from typing import Any

import pytest

from endotransfer.report.gallery import choose, read_scores
from endotransfer.report.study import Run


def write_scores(folder: Path, rows: Any) -> Run:
    (folder / "scores.json").write_text(json.dumps(rows))
    return Run("a", 0, folder)


def test_best_median_and_worst_are_those_of_the_order() -> None:
    ious = {f"{place:02d}": float(place) for place in range(11)}
    chosen = [(choice.kind, choice.key) for choice in choose(ious)]
    assert chosen == [
        ("best", "10"),
        ("best", "09"),
        ("median", "06"),
        ("median", "05"),
        ("worst", "00"),
        ("worst", "01"),
    ]


@pytest.mark.parametrize(("count", "kinds"), [(1, ["best"]), (2, ["best", "worst"]), (4, ["best", "median", "worst"])])
def test_no_image_is_shown_twice(count: int, kinds: list[str]) -> None:
    choices = choose({str(place): float(place) for place in range(count)})
    assert [choice.kind for choice in choices] == kinds
    assert len({choice.key for choice in choices}) == len(choices)


def test_the_number_is_the_iou_of_the_lesion_and_images_without_one_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"key": "a", "matrix": [[4, 1], [1, 2]], "lesions": [1, 1, 0]},
        {"key": "b", "matrix": [[8, 0], [0, 0]], "lesions": [0, 0, 0]},
    ]
    assert read_scores(write_scores(tmp_path, rows)) == {"a": pytest.approx(50.0)}


def test_without_lesions_it_is_the_mean_over_classes(tmp_path: Path) -> None:
    rows = [{"key": "a", "matrix": [[4, 1], [1, 2]], "lesions": None}]
    assert read_scores(write_scores(tmp_path, rows)) == {"a": pytest.approx(100 * (4 / 6 + 2 / 4) / 2)}


@pytest.mark.parametrize("rows", [[], {}, [{"key": "a"}], [1]])
def test_scores_that_cannot_be_read_are_none(tmp_path: Path, rows: Any) -> None:
    assert read_scores(write_scores(tmp_path, rows)) is None
