"""Who may be called best: only whom seeds and groups of images tell apart from the rest."""

import numpy as np
import pytest

from endotransfer.compare.decision import ONE_SEED, conclusion, told_apart
from endotransfer.compare.drawn_figures import DrawnFigures
from endotransfer.compare.image_counts import ImageCounts
from endotransfer.compare.label_summary import IntervalBasis, Standing
from endotransfer.compare.seed_pairs import MeasuredRow, SeedRun
from endotransfer.compare.standings import standings

SEEDS, RESAMPLES = 3, 400


def row(
    label: str, mean: float, spread: float = 0.2, groups: int = 40, seeds: int = SEEDS, **more: bool
) -> MeasuredRow:
    """Runs with mIoU around `mean`, `spread` between seeds; images make half a point of difference."""
    keys = [f"set/{n}" for n in range(groups)]
    counts = ImageCounts(["normal", "lesion"], keys, keys, np.zeros((groups, 2, 2), np.int64))
    runs = []
    for seed in range(seeds):
        value = (mean + spread * (seed - (seeds - 1) / 2)) / 100
        noise = np.random.default_rng([seed, *label.encode()]).normal(0, 0.005, RESAMPLES if groups > 1 else 0)
        drawn = DrawnFigures(counts, {"miou": value}, {"miou": value + noise})
        runs.append(SeedRun(seed, {"miou": 100 * value}, drawn))
    return MeasuredRow(label, runs, **more)


def places(*rows: MeasuredRow, sign: int = 1) -> dict[str, int | None]:
    found = standings(rows, {"miou": sign})
    return {label: some["miou"].place for label, some in found.items() if some}


def test_a_clear_leader_and_a_clear_runner_up() -> None:
    assert places(row("a", 50), row("b", 70), row("c", 60)) == {"a": None, "b": 1, "c": 2}


def test_rows_that_are_not_told_apart_share_the_mark() -> None:
    assert places(row("a", 50), row("b", 70), row("c", 69.8), row("d", 30)) == {"a": 2, "b": 1, "c": 1, "d": None}


def test_a_place_that_all_would_share_is_nobodys() -> None:
    assert places(row("a", 70), row("b", 70.1), row("c", 69.9)) == {"a": None, "b": None, "c": None}
    assert places(row("a", 90), row("b", 70), row("c", 70.1)) == {"a": 1, "b": None, "c": None}
    assert places(row("a", 90), row("b", 70)) == {"a": 1, "b": 2}


def test_a_leader_whose_seeds_disagree_leads_nobody() -> None:
    """A mean of 60 over 40, 60, 80 is not better than a steady 50."""
    assert places(row("a", 60, spread=20), row("b", 50)) == {"a": None, "b": None}


def test_smaller_may_be_better() -> None:
    assert places(row("a", 50), row("b", 70), row("c", 60), sign=-1) == {"a": 1, "b": None, "c": 2}


def test_an_upper_bound_and_a_row_of_one_seed_do_not_compete() -> None:
    rows = row("bound", 95, ranked=False), row("single", 90, seeds=1), row("b", 70), row("c", 60)
    assert places(*rows) == {"b": 1, "c": 2}


@pytest.mark.parametrize(("groups", "marked"), [(1, False), (9, False), (10, True)])
def test_few_groups_of_images_mark_nobody(groups: int, marked: bool) -> None:
    found = places(row("a", 50, groups=groups), row("b", 70, groups=groups))
    assert found == ({"a": 2, "b": 1} if marked else {"a": None, "b": None})


def test_one_seed_marks_nobody() -> None:
    assert places(row("a", 50, seeds=1), row("b", 70, seeds=1)) == {}


def test_the_difference_to_the_leader_is_kept() -> None:
    found = standings([row("a", 50), row("b", 70)], {"miou": 1})
    assert found["b"]["miou"].leader == "b" and found["b"]["miou"].mean == 0
    behind = found["a"]["miou"]
    assert isinstance(behind, Standing) and behind.mean == pytest.approx(-20) and behind.leader == "b"
    assert behind.interval is not None and behind.interval[0] < -20 < behind.interval[1] < 0


def test_without_scores_of_images_intervals_over_seeds_decide() -> None:
    def bare(label: str, *values: float) -> MeasuredRow:
        return MeasuredRow(label, [SeedRun(seed, {"miou": value}) for seed, value in enumerate(values)])

    assert places(bare("a", 50, 51, 52), bare("b", 70, 71.5, 72)) == {"a": 2, "b": 1}
    assert places(bare("a", 50, 51), bare("b", 60, 72)) == {"a": None, "b": None}


# -- one decision ---------------------------------------------------------------------------------------------------


def basis(seeds: int = 3, groups: int | None = 40, over: str = "seeds and images") -> IntervalBasis:
    kinds = {} if groups is None else {"set": {"patient": groups}}
    raw = {"seeds": list(range(seeds)), "groups": groups, "over": over, "group_kinds": kinds}
    return IntervalBasis.model_validate(raw)


@pytest.mark.parametrize(
    ("interval", "on", "apart", "said"),
    [
        ((1.0, 3.0), basis(), True, "The first is better, over 3 seeds and 40 groups of test images."),
        ((-1.0, 3.0), basis(), False, "Not told apart: the interval contains 0."),
        ((0.0, 0.0), basis(), False, "Not told apart: the interval contains 0."),
        ((1.0, 3.0), basis(groups=5), False,
         "No winner is called (the interval rests on 5 groups of test images only)."),
        ((1.0, 3.0), basis(1, over="images"), False,
         "Of these two trained models the first is ahead; neither system is called better (one seed each, and other "
         "seeds may differ)."),
        ((-1.0, 3.0), basis(1, over="images"), False,
         "Not told apart: the interval contains 0 (one seed each, and other seeds may differ)."),
        ((1.0, 3.0), basis(1, 5, "images"), False,
         "No winner is called (one seed each, and other seeds may differ; the interval rests on 5 groups of test "
         "images only)."),
        (None, basis(1, 1), False,
         "Not told apart: there is no interval (one seed each, and other seeds may differ; the test images are one "
         "group (1 patient (set)))."),
        ((1.0, 3.0), basis(over="images"), False,
         "No winner is called (the interval was drawn over test images alone, not over seeds)."),
        ((1.0, 3.0), basis(groups=None, over="seeds"), True,
         "The first is better, over 3 seeds and no known groups of test images."),
    ],
)  # fmt: skip
def test_what_may_be_said(interval: tuple[float, float] | None, on: IntervalBasis, apart: bool, said: str) -> None:
    assert told_apart(interval, on) is apart
    assert conclusion(("the first", "the second"), 2.0, interval, on) == said


def test_the_second_may_be_better_and_a_figure_may_not_exist() -> None:
    names = ("the first", "the second")
    assert conclusion(names, -2.0, (-3.0, -1.0), basis()).startswith("The second is better")
    assert "nothing can be said" in conclusion(names, None, None, basis())
    assert ONE_SEED == "seeds not resampled: one seed"
