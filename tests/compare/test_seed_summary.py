"""Means, deviations and paired intervals, against slow twins."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.compare.image_counts import (
    ImageCounts,
    check_same_images,
    counts_of_run,
    paired_differences,
    read_counts,
    statistics,
)
from endotransfer.compare.seed_summary import summarise_seeds
from endotransfer.errors import DataError
from endotransfer.metrics import paired_bootstrap
from endotransfer.metrics.rates import miou


def counts(seed: int, images: int = 6, classes: int = 2, lesions: bool = True, truth: int = 0) -> ImageCounts:
    """Random matrices whose rows (the truth) depend on `truth` alone."""
    pixels = np.random.default_rng(truth).integers(1, 50, (images, classes))
    share = np.random.default_rng(seed).dirichlet(np.ones(classes), (images, classes))
    matrices = np.floor(pixels[..., None] * share).astype(np.int64)
    matrices[..., 0] += pixels - matrices.sum(-1)
    names = ["normal", "lesion", "third"][:classes]
    return ImageCounts(
        names, [f"k{i}" for i in range(images)], [f"p{i // 2}" for i in range(images)], matrices, lesions
    )


def cell(label: str, seed: int, value: float, **more: Any) -> BenchmarkCell:
    named = {"miou": value, "iou_normal": value, "iou_lesion": value, "dice_lesion": value, "iou": {"normal": value}}
    raw = {"label": label, "method": label, "preset": "default", "variant": None, "seed": seed, **named, **more}
    return BenchmarkCell.model_validate(raw)


def nothing(cell: Any) -> None:
    return None


def test_one_pair_is_the_paired_bootstrap() -> None:
    a, b = counts(1), counts(2)
    expected = paired_bootstrap(a.matrices, b.matrices, a.groups, miou, resamples=50)
    assert paired_differences([(a, b)], {"miou": miou}, 50)["miou"] == pytest.approx(expected)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_several_seeds_are_averaged_under_the_same_draws(seed: int) -> None:
    pairs = [(counts(seed + index), counts(seed + 100 + index)) for index in range(3)]
    difference, low, high = paired_differences(pairs, {"miou": miou}, 40)["miou"]
    literal = [float(miou(a.matrices.sum(0)) - miou(b.matrices.sum(0))) for a, b in pairs]
    assert difference == pytest.approx(sum(literal) / 3)
    draw, drawn = np.random.default_rng(0), []
    for weights in draw.multinomial(3, [1 / 3] * 3, 40):  # three patients of two images
        by_image = np.repeat(weights, 2)[:, None, None]
        drawn.append(
            np.mean([miou((a.matrices * by_image).sum(0)) - miou((b.matrices * by_image).sum(0)) for a, b in pairs])
        )
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


def test_mean_and_deviation_over_seeds() -> None:
    (entry,) = summarise_seeds(["lta"], [cell("lta", 0, 10.0), cell("lta", 1, 14.0)], None, nothing, 20)
    assert entry.mean["miou"] == 12.0
    assert entry.deviation["miou"] == pytest.approx(8**0.5)
    assert entry.seeds == [0, 1]
    assert entry.difference is None
    (single,) = summarise_seeds(["lta"], [cell("lta", 0, 10.0, iou_lesion=None)], None, nothing, 20)
    assert single.deviation["miou"] is None and single.mean["iou_lesion"] is None


def test_a_difference_has_an_interval_over_images() -> None:
    known = {("base", 0): counts(1), ("lta", 0): counts(2)}
    cells = [cell("base", 0, 10.0), cell("lta", 0, 20.0), cell("lta", 1, 20.0)]
    base, lta = summarise_seeds(["base", "lta"], cells, "base", lambda one: known[one.key], 30)
    expected = paired_differences([(known["lta", 0], known["base", 0])], {"miou": miou}, 30)["miou"]
    assert [lta.difference, *(lta.interval or ())] == pytest.approx([100 * value for value in expected])
    assert lta.differences is not None
    assert lta.differences.over == "images" and lta.differences.seeds == [0]
    named = {"miou", "iou_normal", "iou_lesion", "dice_lesion", "iou.normal", "iou.lesion"}
    assert set(lta.differences.figures) >= named
    assert base.differences is None


def test_without_scores_the_interval_is_over_seeds_or_there_is_none() -> None:
    cells = [cell(label, seed, value) for seed in range(3) for label, value in (("base", 10.0), ("lta", 20.0 + seed))]
    _, lta = summarise_seeds(["base", "lta"], cells, "base", nothing, 200)
    assert lta.differences is not None
    assert lta.differences.over == "seeds" and "scores" in (lta.differences.note or "")
    assert lta.difference == pytest.approx(11.0)
    assert lta.interval is not None and 10 <= lta.interval[0] < 11 < lta.interval[1] <= 12
    _, two = summarise_seeds(["base", "lta"], cells[:4], "base", nothing, 200)
    assert two.differences is not None
    assert two.differences.over is None and two.interval is None and two.difference == 10.5


def test_other_images_are_not_paired() -> None:
    known = {"base": counts(1), "lta": counts(2, truth=5)}
    cells = [cell("base", 0, 10.0), cell("lta", 0, 20.0)]
    _, lta = summarise_seeds(["base", "lta"], cells, "base", lambda one: known[one.label], 30)
    assert lta.differences is not None
    assert lta.differences.over is None and "same masks" in (lta.differences.note or "")


def test_no_common_seed_no_difference() -> None:
    _, lta = summarise_seeds(["base", "lta"], [cell("base", 0, 1.0), cell("lta", 1, 2.0)], "base", nothing, 30)
    assert lta.differences is not None
    assert lta.difference is None and lta.differences.seeds == []


def test_street_scenes_have_no_lesion_figures() -> None:
    assert list(statistics(counts(1, classes=3, lesions=False))) == ["miou", "iou.normal", "iou.lesion", "iou.third"]


# -- the side files -------------------------------------------------------------------------------------------------


def test_counts_survive_their_file(tmp_path: Path) -> None:
    before = counts(3, classes=3, lesions=False)
    before.write(tmp_path / "scores" / "cell.json")
    after = read_counts(tmp_path / "scores" / "cell.json")
    assert after is not None
    assert (after.classes, after.keys, after.groups, after.lesions) == (
        before.classes, before.keys, before.groups, False,
    )  # fmt: skip
    assert np.array_equal(after.matrices, before.matrices)


WHOLE = {"classes": ["a"], "keys": ["k"], "groups": ["p"], "counts": [[1]], "lesions": True}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", json.dumps({**WHOLE, "groups": []}), json.dumps({**WHOLE, "counts": [[1, 2]]})]
)
def test_damaged_counts_are_no_counts(tmp_path: Path, text: str) -> None:
    (tmp_path / "cell.json").write_text(text)
    assert read_counts(tmp_path / "cell.json") is None
    assert read_counts(tmp_path / "missing.json") is None


def test_a_run_without_scores_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no results\.json; name the folder of a finished run"):
        counts_of_run(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps({"method": "lta", "classes": ["normal", "lesion"]}))
    (tmp_path / "scores.json").write_text("{")
    with pytest.raises(DataError, match=r"scores\.json is damaged"):
        counts_of_run(tmp_path)
    (tmp_path / "scores.json").write_text('[{"key": "a"}]')
    with pytest.raises(DataError, match=r"scores\.json is damaged"):
        counts_of_run(tmp_path)


def test_only_the_same_masks_can_be_paired() -> None:
    check_same_images(counts(1), counts(2), lambda: "")
    for other in (counts(2, images=5), counts(2, truth=9), counts(2, classes=3)):
        with pytest.raises(DataError, match="a and b were not measured on the same masks"):
            check_same_images(counts(1), other, lambda: "a and b")
