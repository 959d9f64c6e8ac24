"""Which images are shown, and by which number."""

import json
from pathlib import Path
from typing import Any

import pytest

from endotransfer.report.gallery import Score, choose, read_scores
from endotransfer.report.study import Run


def write_scores(folder: Path, rows: Any) -> Run:
    (folder / "scores.json").write_text(json.dumps(rows))
    return Run("a", 0, folder)


def test_best_median_and_worst_are_those_of_the_order() -> None:
    scores = {f"{place:02d}": Score(float(place), 0) for place in range(11)}
    chosen = [(choice.kind, choice.key) for choice in choose(scores)]
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
    choices = choose({str(place): Score(float(place), 0) for place in range(count)})
    assert [choice.kind for choice in choices] == kinds
    assert len({choice.key for choice in choices}) == len(choices)


def test_of_those_with_nothing_right_the_worst_have_the_most_wrong_pixels() -> None:
    """A speck on a normal image is 0 % like a lesion that was missed, and shows nothing."""
    scores = {
        "speck": Score(0.0, 2),
        "a missed lesion": Score(0.0, 900),
        "half": Score(50.0, 2000),
        "good": Score(90, 3),
    }
    assert [choice.key for choice in choose(scores, each=1)] == ["good", "half", "a missed lesion"]


def test_the_number_is_the_iou_of_the_lesion_and_images_without_one_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"key": "a", "matrix": [[4, 1], [1, 2]], "lesions": [1, 1, 0]},
        {"key": "b", "matrix": [[8, 0], [0, 0]], "lesions": [0, 0, 0]},
    ]
    scores = read_scores(write_scores(tmp_path, rows))
    assert scores is not None
    (found,) = scores.items()
    assert found == ("a", Score(found[1].iou, 2))
    assert found[1].iou == pytest.approx(50.0)


def test_without_lesions_it_is_the_mean_over_classes(tmp_path: Path) -> None:
    rows = [{"key": "a", "matrix": [[4, 1], [1, 2]], "lesions": None}]
    scores = read_scores(write_scores(tmp_path, rows))
    assert scores is not None
    (found,) = scores.items()
    assert found == ("a", Score(found[1].iou, 2))
    assert found[1].iou == pytest.approx(100 * (4 / 6 + 2 / 4) / 2)


@pytest.mark.parametrize("rows", [[], {}, [{"key": "a"}], [1]])
def test_scores_that_cannot_be_read_are_none(tmp_path: Path, rows: Any) -> None:
    assert read_scores(write_scores(tmp_path, rows)) is None
