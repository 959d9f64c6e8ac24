"""One pass over the images, every figure from it: sums, means, findings, shards."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from endotransfer.batch import IGNORE, LESION, NORMAL
from endotransfer.errors import DataError
from endotransfer.metrics import Scores, confusion, dice, iou, miou, paired_bootstrap, resampled_sums
from endotransfer.metrics.bootstrap import percentiles

Case = dict[str, Any]  # the arguments of `update`

TWO = ["normal", "lesion"]
FOUR = ["normal", "polyp", "ulcer", "never"]


def images(count: int = 12, classes: int = 3, seed: int = 0) -> Iterator[Case]:
    """Arguments of `update` for blocky random images; every third has no lesion at all."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        prediction, truth = rng.integers(0, classes, (2, 4, 4)).repeat(4, -1).repeat(4, -2)
        prediction, truth = (labels * (index % 3 > 0) for labels in (prediction, truth))
        truth[:2] = IGNORE
        yield {
            "prediction": prediction,
            "truth": truth,
            "key": f"set/{index:03d}",
            "group": f"patient {index // 2}",
            "finding": ["none", "polyp", "polyp+ulcer"][index % 3],
            "tag": LESION if index % 3 else NORMAL,
            "lesion_probability": float(rng.random()),
        }


def scored(cases: Iterable[Case], classes: list[str] = FOUR, **settings: bool) -> Scores:
    scores = Scores(classes, **settings)
    for case in cases:
        scores.update(**case)
    return scores


def box(rows: int | slice, columns: int | slice, size: int = 32) -> NDArray[np.int64]:
    mask = np.zeros((size, size), dtype=np.int64)
    mask[rows, columns] = 1
    return mask


EMPTY, FIRST, HALF = box(0, 0) * 0, box(np.s_[:8], np.s_[:8]), box(np.s_[:8], np.s_[:4])


def test_data_set_figures_come_from_the_sum_of_all_matrices() -> None:
    cases = list(images())
    summary = scored(cases).summary(resamples=0)
    prediction, truth = (np.stack([case[name] for case in cases]) for name in ("prediction", "truth"))
    together = confusion(prediction, truth, 4)
    values = 100 * iou(together)
    assert summary["iou"] == pytest.approx({**dict(zip(FOUR, values, strict=True)), "never": None})
    assert summary["dice"]["ulcer"] == pytest.approx(100 * dice(together)[2])
    assert summary["precision"]["polyp"] == pytest.approx(100 * together[1, 1] / together[:, 1].sum())
    assert summary["recall"]["polyp"] == pytest.approx(100 * together[1, 1] / together[1].sum())
    assert summary["miou"] == pytest.approx(values[:3].mean())
    assert summary["iou_normal"] == summary["iou"]["normal"]
    assert summary["absent_classes"] == ["never"]
    assert summary["images"] == 12 and summary["unlabelled_images"] == 0


def test_lesion_figures_merge_all_classes_but_the_first() -> None:
    many = scored(images()).summary()
    merged = [
        {
            **case,
            "prediction": (case["prediction"] > 0).astype(int),
            "truth": np.where(case["truth"] == IGNORE, IGNORE, case["truth"] > 0),
        }
        for case in images()
    ]
    two = scored(merged, TWO).summary()
    for name in ("iou_normal", "iou_lesion", "dice_lesion", "lesion_wise"):
        assert many[name] == two[name]
    assert many["intervals"]["iou_lesion"] == two["intervals"]["iou_lesion"] == two["intervals"]["iou"]["lesion"]
    assert two["iou_lesion"] == two["iou"]["lesion"] and two["dice_lesion"] == two["dice"]["lesion"]


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_shards_merge_to_exactly_the_same_summary(shards: int) -> None:
    cases = list(images())
    whole = scored(cases)
    parts = [scored(cases[start::shards]) for start in reversed(range(shards))]
    for part in parts[1:]:
        parts[0].merge(part)
    np.testing.assert_array_equal(parts[0].matrices(), whole.matrices())
    assert json.dumps(parts[0].summary().to_dict()) == json.dumps(whole.summary().to_dict())


def test_images_that_pad_a_shard_count_once() -> None:
    cases = list(images())
    left, right = scored(cases[:7]), scored(cases[6:])
    left.merge(right)
    assert left.summary() == scored(cases).summary()


def test_one_image_with_two_results_is_refused() -> None:
    scores = scored(images(1))
    with pytest.raises(DataError, match="set/000 was scored twice with two results"):
        scores.update(EMPTY, FIRST, key="set/000")


def test_scores_for_other_classes_are_refused() -> None:
    with pytest.raises(DataError, match="cannot join"):
        Scores(TWO).merge(Scores(FOUR))


def test_rows_travel_as_json_and_lose_nothing() -> None:
    scores = scored(images())
    rows = json.loads(json.dumps(scores.rows()))
    assert json.dumps(Scores.from_rows(FOUR, rows).summary().to_dict()) == json.dumps(scores.summary().to_dict())
    street = scored(images(), lesions=False)
    assert Scores.from_rows(FOUR, street.rows(), lesions=False).rows() == street.rows()


def test_an_error_names_the_image() -> None:
    with pytest.raises(DataError, match="the mask of set/a holds class 9"):
        Scores(TWO).update(EMPTY, EMPTY + 9, key="set/a")


@pytest.fixture
def four_images() -> Scores:
    """Both empty; only truth; only prediction; half of the lesion found."""
    pairs = [(EMPTY, EMPTY), (EMPTY, FIRST), (FIRST, EMPTY), (HALF, FIRST)]
    return scored(({"prediction": p, "truth": t, "key": f"set/{i}"} for i, (p, t) in enumerate(pairs)), TWO)


def test_per_image_means_leave_out_images_without_lesion_and_count_them(four_images: Scores) -> None:
    per_image = four_images.summary(resamples=0)["per_image"]
    assert per_image["iou_lesion"] == pytest.approx(100 * (0 + 0 + 1 / 2) / 3)
    assert per_image["dice_lesion"] == pytest.approx(100 * (0 + 0 + 2 / 3) / 3)
    assert (per_image["images"], per_image["both_empty"]) == (3, 1)
    normal = [1, 960 / 1024, 960 / 1024, 960 / 992]
    assert per_image["miou"] == pytest.approx(100 * np.mean([1, normal[1] / 2, normal[2] / 2, (normal[3] + 0.5) / 2]))


def test_seeing_times_drawing_is_the_mean_dice_of_lesion_images(four_images: Scores) -> None:
    per_image = four_images.summary(resamples=0)["per_image"]
    assert per_image["overlap_share"] == pytest.approx(50)
    assert per_image["dice_given_overlap"] == pytest.approx(100 * 2 / 3)


def test_an_invented_lesion_does_not_count_as_one_to_be_seen(four_images: Scores) -> None:
    four_images.update(FIRST, EMPTY, key="set/invented")
    assert four_images.summary(resamples=0)["per_image"]["overlap_share"] == pytest.approx(50)


def test_lesions_are_counted_one_by_one(four_images: Scores) -> None:
    lesion_wise = four_images.summary(resamples=0)["lesion_wise"]
    assert lesion_wise["sensitivity"] == 50 and lesion_wise["false_positives_per_image"] == 0.25
    assert (lesion_wise["found"], lesion_wise["lesions"], lesion_wise["false_positives"]) == (1, 2, 1)


def test_ignored_pixels_are_neither_lesions_nor_false_positives() -> None:
    truth = np.where(FIRST > 0, IGNORE, EMPTY)
    scores = Scores(TWO)
    scores.update(torch.from_numpy(FIRST), torch.from_numpy(truth), key="a")
    lesion_wise = scores.summary(resamples=0)["lesion_wise"]
    assert (lesion_wise["lesions"], lesion_wise["false_positives"]) == (0, 0)


def test_an_image_with_every_pixel_ignored_is_counted_and_changes_nothing(four_images: Scores) -> None:
    before = four_images.summary().to_dict()
    four_images.update(FIRST, EMPTY + IGNORE, key="set/blank")
    after = four_images.summary().to_dict()
    assert (after.pop("images"), after.pop("unlabelled_images")) == (5, 1)
    assert after == {k: v for k, v in before.items() if k not in ("images", "unlabelled_images")}


def test_by_finding_takes_an_image_under_each_of_its_findings() -> None:
    cases = list(images())
    table = scored(cases).summary(resamples=0)["by_finding"]
    assert {name: row["images"] for name, row in table.items()} == {"none": 4, "polyp": 8, "ulcer": 4}
    alone = scored(case for case in cases if "ulcer" in case["finding"]).summary(resamples=0)
    assert all(table["ulcer"][name] == alone[name] for name in ("iou", "miou", "dice_lesion", "lesion_wise"))
    assert table["none"]["iou_lesion"] is None  # neither painted nor true


def test_images_without_finding_make_no_table(four_images: Scores) -> None:
    assert four_images.summary(resamples=0)["by_finding"] == {}


def test_intervals_draw_whole_patients_and_enclose_the_figure() -> None:
    scores = scored(images())
    summary = scores.summary(resamples=300, seed=5)
    found = summary["intervals"]
    expected = percentiles(miou(resampled_sums(scores.matrices(), scores.groups(), 300, seed=5)), 0.95)
    assert found["miou"] == pytest.approx([100 * end for end in expected])
    assert (found["level"], found["resamples"], found["groups"]) == (95, 300, 6)
    assert found["iou"]["never"] is None
    for name in ("miou", "iou_normal", "iou_lesion", "dice_lesion"):
        assert found[name][0] < summary[name] < found[name][1]
    for name in ("polyp", "ulcer"):
        assert found["dice"][name][0] < summary["dice"][name] < found["dice"][name][1]


def test_images_without_patient_are_drawn_by_themselves(four_images: Scores) -> None:
    assert four_images.summary(resamples=10)["intervals"]["groups"] == 4


def test_two_runs_over_the_same_images_can_be_paired() -> None:
    first, second = scored(images()), scored({**c, "prediction": c["truth"] % IGNORE} for c in images())
    assert first.groups() == second.groups()
    difference, low, high = paired_bootstrap(second.matrices(), first.matrices(), first.groups(), miou)
    assert 0 < low < difference < high


def test_no_resamples_no_intervals() -> None:
    found = scored(images()).summary(resamples=0)["intervals"]
    assert found["miou"] is None and found["dice"] == dict.fromkeys(FOUR)


def test_s1_is_scored_against_the_tags_that_exist() -> None:
    answers = [(0.9, LESION), (0.4, LESION), (0.6, NORMAL), (0.1, NORMAL), (0.9, -1), (None, LESION)]
    scores = Scores(TWO)
    for index, (probability, tag) in enumerate(answers):
        scores.update(EMPTY, EMPTY, key=str(index), tag=tag, lesion_probability=probability)
    assert scores.summary(resamples=0)["tags"] == {"accuracy": 50, "auroc": 75, "images": 4}


def test_without_s1_there_is_nothing_to_say_of_tags(four_images: Scores) -> None:
    assert four_images.summary(resamples=0)["tags"] is None


def test_street_scenes_have_no_lesions() -> None:
    summary = scored(images(), lesions=False).summary()
    assert summary["iou_normal"] is summary["iou_lesion"] is summary["dice_lesion"] is None
    assert summary["lesion_wise"] is None and summary["intervals"]["iou_lesion"] is None
    assert summary["by_finding"]["polyp"]["lesion_wise"] is None
    assert list(summary["per_image"]) == ["miou"]
    assert summary["miou"] == scored(images()).summary()["miou"]


def test_no_image_at_all_gives_none_not_nan() -> None:
    summary = Scores(TWO).summary()
    assert summary["miou"] is None and summary["images"] == 0
    assert summary["lesion_wise"]["false_positives_per_image"] is None
    json.dumps(summary.to_dict(), allow_nan=False)


def test_summary_is_json_without_nan() -> None:
    json.dumps(scored(images()).summary().to_dict(), allow_nan=False)
