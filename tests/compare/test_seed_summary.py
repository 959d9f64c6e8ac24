"""Means, deviations, paired intervals over seeds and images, and who stands where, against slow twins."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.compare.compared_figures import compared_figures
from endotransfer.compare.drawn_figures import DrawnFigures, draw_figures
from endotransfer.compare.image_counts import ImageCounts, check_same_images, counts_of_run, read_counts
from endotransfer.compare.seed_pairs import NO_SEED, SeedPairs, SeedRun
from endotransfer.compare.seed_summary import summarise_seeds
from endotransfer.errors import DataError
from endotransfer.metrics import paired_bootstrap
from endotransfer.metrics.rates import miou
from tests.metrics.test_seed_interval import literal_interval


def counts(
    seed: int, images: int = 6, classes: int = 2, lesions: bool = True, truth: int = 0, skill: float = 0.0
) -> ImageCounts:
    """Random matrices whose rows (the truth) depend on `truth` alone; `skill` is the share that is surely right."""
    pixels = np.random.default_rng(truth).integers(1, 50, (images, classes))
    share = (1 - skill) * np.random.default_rng(seed).dirichlet(np.ones(classes), (images, classes))
    matrices = np.floor(pixels[..., None] * share).astype(np.int64)
    matrices[:, range(classes), range(classes)] += pixels - matrices.sum(-1)
    names = ["normal", "lesion", "third"][:classes]
    keys, groups = [f"set/k{i}" for i in range(images)], [f"set/patient {i // 2}" for i in range(images)]
    return ImageCounts(names, keys, groups, matrices, lesions)


def drawn(seed: int, resamples: int = 30, **more: Any) -> DrawnFigures:
    return draw_figures(counts(seed, **more), resamples)


def cell(label: str, seed: int, value: float, **more: Any) -> BenchmarkCell:
    named = {"miou": value, "iou_normal": value, "iou_lesion": value, "dice_lesion": value, "iou": {"normal": value}}
    head = {"label": label, "method": label, "preset": "default", "variant": None, "seed": seed}
    raw = {**head, "classes": ["normal", "lesion"], **named, **more}
    return BenchmarkCell.model_validate(raw)


def nothing(cell: Any) -> None:
    return None


def one_pair(first: ImageCounts, second: ImageCounts, resamples: int) -> list[float | None]:
    runs = tuple(SeedRun(0, {}, draw_figures(some, resamples)) for some in (first, second))
    found = SeedPairs([runs], "both").estimate("miou")
    return [found.mean, *(found.interval or ())]


# -- intervals ------------------------------------------------------------------------------------------------------


def test_one_pair_is_the_paired_bootstrap() -> None:
    a, b = counts(1), counts(2)
    expected = paired_bootstrap(a.matrices, b.matrices, a.groups, miou, resamples=50)
    assert one_pair(a, b, 50) == pytest.approx([100 * value for value in expected])


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_several_seeds_are_drawn_with_the_same_groups_and_widened_by_student(seed: int) -> None:
    pairs = [(counts(seed + index), counts(seed + 100 + index)) for index in range(3)]
    runs = [tuple(SeedRun(n, {}, draw_figures(some, 40)) for some in pair) for n, pair in enumerate(pairs)]
    found = SeedPairs(runs, "both").estimate("miou")
    values = [float(miou(a.matrices.sum(0)) - miou(b.matrices.sum(0))) for a, b in pairs]
    assert found.mean == pytest.approx(100 * sum(values) / 3)
    draws: list[list[float]] = [[], [], []]
    for weights in np.random.default_rng(0).multinomial(3, [1 / 3] * 3, 40):  # three patients of two images
        by_image = np.repeat(weights, 2)[:, None, None]
        for of_seed, (a, b) in zip(draws, pairs, strict=True):
            of_seed.append(float(miou((a.matrices * by_image).sum(0)) - miou((b.matrices * by_image).sum(0))))
    low, high = literal_interval(values, draws)
    assert found.interval == pytest.approx((max(-100, 100 * low), min(100, 100 * high)))


def test_a_mean_has_an_interval_of_the_same_kind() -> None:
    known = {("lta", n): drawn(n, 200, images=40) for n in range(3)}
    cells = [cell("lta", n, 100 * known["lta", n].values["miou"]) for n in range(3)]
    (entry,) = summarise_seeds(["lta"], cells, None, lambda one: known[one.key])
    assert entry.intervals is not None
    values, draws = ([getattr(one, kind)["miou"] for one in known.values()] for kind in ("values", "draws"))
    literal = literal_interval(values, [some.tolist() for some in draws])
    assert entry.intervals.ends["miou"] == pytest.approx([100 * end for end in literal])
    basis = entry.intervals
    assert (basis.over, basis.seeds, basis.groups) == ("seeds and images", [0, 1, 2], 20)
    assert basis.group_kinds == {"set": {"patient": 20}}


def test_a_mean_of_shares_stays_between_0_and_100() -> None:
    known = {("lta", n): drawn(n, 200, images=40, skill=n) for n in range(2)}
    cells = [cell("lta", n, 50.0) for n in range(2)]
    (entry,) = summarise_seeds(["lta"], cells, None, lambda one: known[one.key])
    assert entry.intervals is not None and entry.intervals.ends["miou"] == (0, 100)


def test_mean_and_deviation_over_seeds() -> None:
    (entry,) = summarise_seeds(["lta"], [cell("lta", 0, 10.0), cell("lta", 1, 14.0)], None, nothing)
    assert entry.mean["miou"] == 12.0
    assert entry.deviation["miou"] == pytest.approx(8**0.5)
    assert entry.seeds == [0, 1]
    assert entry.difference is None
    (single,) = summarise_seeds(["lta"], [cell("lta", 0, 10.0, iou_lesion=None)], None, nothing)
    assert single.deviation["miou"] is None and single.mean["iou_lesion"] is None
    assert single.intervals is not None and single.intervals.over is None


def test_with_one_seed_the_interval_is_over_images_and_says_so() -> None:
    known = {("base", 0): drawn(1), ("lta", 0): drawn(2)}
    cells = [cell("base", 0, 10.0), cell("lta", 0, 20.0), cell("lta", 1, 20.0)]
    base, lta = summarise_seeds(["base", "lta"], cells, "base", lambda one: known.get(one.key))
    expected = one_pair(known["lta", 0].counts, known["base", 0].counts, 30)
    assert [lta.difference, *(lta.interval or ())] == pytest.approx(expected)
    assert lta.differences is not None
    assert lta.differences.over == "images" and lta.differences.seeds == [0]
    assert lta.differences.note == "seeds not resampled: one seed"
    named = {"miou", "iou_normal", "iou_lesion", "dice_lesion", "iou_lesion_within", "iou.normal"}
    assert set(lta.differences.figures) >= named
    assert base.differences is None


def test_without_scores_the_interval_is_students_over_seeds_or_there_is_none() -> None:
    cells = [cell(label, seed, value) for seed in range(3) for label, value in (("base", 10.0), ("lta", 20.0 + seed))]
    _, lta = summarise_seeds(["base", "lta"], cells, "base", nothing)
    assert lta.differences is not None
    assert lta.differences.over == "seeds" and "scores" in (lta.differences.note or "")
    assert lta.difference == pytest.approx(11.0)
    assert lta.interval == pytest.approx((11 - 4.30265 / 3**0.5, 11 + 4.30265 / 3**0.5), rel=1e-4)
    _, two = summarise_seeds(["base", "lta"], cells[:2], "base", nothing)
    assert two.differences is not None
    assert two.differences.over is None and two.interval is None and two.difference == 10


def test_one_group_of_images_gives_an_interval_over_seeds_alone() -> None:
    known = {(label, n): drawn(n + place, images=2) for place, label in enumerate(("base", "lta")) for n in range(2)}
    cells = [cell(label, n, 10.0) for label, n in known]
    _, lta = summarise_seeds(["base", "lta"], cells, "base", lambda one: known[one.key])
    assert lta.differences is not None and (lta.differences.over, lta.differences.groups) == ("seeds", 1)
    assert lta.differences.note == "the test images are one group (1 patient (set)); intervals are over seeds"


def test_other_images_are_not_paired() -> None:
    known = {"base": drawn(1), "lta": drawn(2, truth=5)}
    cells = [cell("base", 0, 10.0), cell("lta", 0, 20.0)]
    _, lta = summarise_seeds(["base", "lta"], cells, "base", lambda one: known[one.label])
    assert lta.differences is not None
    assert lta.differences.over is None and "same masks" in (lta.differences.note or "")


def test_no_common_seed_no_difference() -> None:
    _, lta = summarise_seeds(["base", "lta"], [cell("base", 0, 1.0), cell("lta", 1, 2.0)], "base", nothing)
    assert lta.differences is not None
    assert lta.difference is None and lta.differences.seeds == [] and lta.differences.note == NO_SEED


def test_street_scenes_have_no_lesion_figures() -> None:
    assert list(compared_figures(["normal", "lesion", "third"], lesions=False)) == [
        "miou", "iou.normal", "iou.lesion", "iou.third",
    ]  # fmt: skip


# -- settings -------------------------------------------------------------------------------------------------------


def test_a_row_that_was_trained_otherwise_is_named() -> None:
    usual = {"training.epochs": 5, "training.lr": 0.01}
    own = {"a": usual, "b": {**usual, "training.epochs": 20}, "c": {"training.epochs": 5}}
    cells = [cell(label, 0, 1.0, settings=some) for label, some in own.items()] + [cell("old", 0, 1.0)]
    found = {entry.label: entry.settings for entry in summarise_seeds(["a", "b", "c", "old"], cells, None, nothing)}
    assert found == {"a": {}, "b": {"training.epochs": [20, 5]}, "c": {"training.lr": [0.0001, 0.01]}, "old": {}}


def test_what_a_sweep_varies_is_not_odd() -> None:
    cells = [cell(str(n), 0, 1.0, settings={"training.lr": n}, grid={"training.lr": n}) for n in (1, 2, 3)]
    assert not any(entry.settings for entry in summarise_seeds(["1", "2", "3"], cells, None, nothing))


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
    assert after.group_kinds == {"set": {"patient": 3}}


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
