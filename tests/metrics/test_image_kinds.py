"""Figures over lesion images alone and normal images alone, and models that answer the same everywhere."""

import numpy as np
import pytest
from numpy.typing import NDArray

from endotransfer.batch import IGNORE
from endotransfer.metrics import FIGURES, Scores
from endotransfer.metrics.bootstrap import percentiles, resampled_sums
from endotransfer.metrics.collapse import collapse
from endotransfer.metrics.image_parts import matrices_over, split_by_kind
from endotransfer.metrics.rates import lesion_iou
from endotransfer.results import Results

TWO = ["normal", "lesion"]
Mask = NDArray[np.int64]


def masks(count: int = 9, classes: int = 2, seed: int = 0) -> list[tuple[Mask, Mask]]:
    """(prediction, truth); every third image has no lesion, and its first row is unlabelled."""
    draw = np.random.default_rng(seed)
    pairs = []
    for index in range(count):
        prediction, truth = draw.integers(0, classes, (2, 8, 8))
        truth = truth * (index % 3 > 0)
        truth[0] = IGNORE
        pairs.append((prediction, truth))
    return pairs


def scored(pairs: list[tuple[Mask, Mask]], classes: list[str] = TWO, lesions: bool = True) -> Scores:
    scores = Scores(classes, lesions)
    for index, (prediction, truth) in enumerate(pairs):
        scores.update(prediction, truth, key=f"set/{index}", group=f"set/cluster {index // 2}")
    return scores


@pytest.mark.parametrize("classes", [2, 4])
def test_both_figures_equal_counting_pixel_by_pixel(classes: int) -> None:
    names = ["normal", "a", "b", "c"][:classes] if classes > 2 else TWO
    hits = union = painted = normal = 0
    pairs = masks(classes=classes)
    for prediction, truth in pairs:
        labelled = truth != IGNORE
        has_lesion = bool((truth[labelled] > 0).any())
        for guess, true in zip(prediction[labelled].tolist(), truth[labelled].tolist(), strict=True):
            if has_lesion:
                hits += guess > 0 and true > 0
                union += guess > 0 or true > 0
            else:
                painted += guess > 0
                normal += 1
    summary = scored(pairs, names).summary(resamples=0)
    assert summary.figure("iou_lesion_within") == pytest.approx(100 * hits / union)
    assert summary.figure("normal_painted") == pytest.approx(100 * painted / normal)


def test_the_interval_draws_groups_and_sums_the_lesion_images_among_them() -> None:
    scores = scored(masks(12))
    matrices, groups = scores.matrices(), scores.groups()
    with_lesion = np.where(matrices[:, 1:].any((1, 2), keepdims=True), matrices, 0)
    expected = percentiles(lesion_iou(resampled_sums(with_lesion, groups, 200)), 0.95)
    summary = scores.summary(resamples=200)
    assert summary.interval("iou_lesion_within") == pytest.approx([100 * end for end in expected])
    ends = summary.interval("normal_painted")
    assert ends is not None and ends[0] < (summary.figure("normal_painted") or 0) < ends[1]


def test_painting_everything_scores_the_share_of_lesion_and_all_of_normal() -> None:
    pairs = [(np.ones((8, 8), int), truth) for _, truth in masks()]
    summary = scored(pairs).summary(resamples=0)
    lesion = [truth[1:] for _, truth in pairs if (truth[1:] == 1).any()]
    assert summary.figure("iou_lesion_within") == pytest.approx(100 * np.mean(lesion))
    assert summary.figure("normal_painted") == 100


def test_a_test_set_of_one_kind_has_one_of_the_two() -> None:
    normal = scored([(p, t * (t == IGNORE)) for p, t in masks()]).summary(resamples=0)
    assert normal.figure("iou_lesion_within") is None and normal.figure("normal_painted") is not None
    lesion = scored([pair for n, pair in enumerate(masks()) if n % 3]).summary(resamples=0)
    assert lesion.figure("iou_lesion_within") == lesion.figure("iou_lesion")
    assert lesion.figure("normal_painted") is None


def test_street_scenes_have_neither_and_are_not_split() -> None:
    scores = scored(masks(), lesions=False)
    assert scores.summary(resamples=0)["iou_lesion_within"] is None
    assert split_by_kind(scores.matrices(), lesions=False).shape == (9, 1, 2, 2)


def test_the_parts_of_a_matrix_add_up_to_it() -> None:
    matrices = scored(masks()).matrices()
    parts = split_by_kind(matrices)
    assert parts.shape == (9, 2, 2, 2)
    np.testing.assert_array_equal(matrices_over(parts, "all"), matrices)
    assert not matrices_over(parts, "lesion")[::3].any() and not matrices_over(parts, "normal")[1].any()


def test_less_paint_is_better() -> None:
    assert not FIGURES.get("normal_painted").larger_is_better and FIGURES.get("iou_lesion_within").larger_is_better


# -- collapse -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[90, 0], [10, 0]], "predicts no lesion at all"),
        ([[0, 90], [0, 10]], "paints every image"),
        ([[8999, 1], [995, 5]], "predicts almost no lesion (under 1% of the pixels that are)"),
        ([[50, 8950], [0, 1000]], "paints almost all of every image (under 1% of what is normal is left)"),
        ([[80, 10], [10, 0]], "hits no lesion: all that it paints lies beside them"),
        ([[80, 10], [5, 5]], None),
        ([[90, 0], [0, 0]], None),  # nothing was to be found
        ([[0, 0], [0, 90]], None),
    ],
)
def test_a_model_that_answers_the_same_everywhere_is_said(matrix: list[list[int]], said: str | None) -> None:
    assert collapse(np.array(matrix), TWO, lesions=True) == said


def test_several_lesion_classes_and_street_scenes() -> None:
    three = np.array([[5, 2, 0], [1, 3, 0], [1, 1, 0]])
    assert collapse(three, ["normal", "a", "b"], lesions=True) is None
    one = np.zeros((3, 3), int)
    one[:, 1] = [3, 4, 5]
    assert collapse(one, ["sky", "road", "tree"], lesions=False) == "predicts nothing but road"
    assert collapse(three, ["sky", "road", "tree"], lesions=False) is None


def test_results_json_says_it_and_an_older_one_tells_by_its_precision() -> None:
    pairs = [(prediction * 0, truth) for prediction, truth in masks()]
    summary = scored(pairs).summary(resamples=0).to_dict()
    assert summary["collapsed"] == "predicts no lesion at all"
    now = Results.model_validate({"method": "lta", "classes": TWO, **summary})
    older = Results.model_validate(
        {"method": "lta", "classes": TWO, **{k: v for k, v in summary.items() if k != "collapsed"}}
    )
    assert now.collapsed == older.collapsed == "predicts no lesion at all"
    sound = scored(masks()).summary(resamples=0).to_dict()
    sound_older = {k: v for k, v in sound.items() if k != "collapsed"}
    for content in (sound, sound_older):
        assert Results.model_validate({"method": "lta", "classes": TWO, **content}).collapsed is None
