"""Two systems on the same images: difference, interval, what may be concluded, and what else differs."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from endotransfer.cli.benchmark_commands import repeated_option
from endotransfer.cli.main import app
from endotransfer.compare.comparison_text import print_comparison
from endotransfer.compare.paired import Comparison, compare_runs
from endotransfer.config import as_yaml
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import ConfigError, DataError
from endotransfer.methods.resolve import resolved
from endotransfer.metrics import paired_bootstrap
from endotransfer.metrics.rates import lesion_iou, miou
from tests.compare.conftest import finish

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(make_experiment: Any, tmp_path: Path) -> MakeRun:
    """`make_run(name, skill, seed=0, method=..., images=...)`: a finished run with its settings."""

    def make(name: str, skill: float, seed: int = 0, method: str = "source_only", images: int = 6, **more: Any) -> Path:
        normal = more.pop("normal", False)
        experiment = make_experiment("tagged", method, **more).model_copy(update={"seed": seed})
        run = RunFolder(tmp_path / name)
        run.path.mkdir()
        run.config.write_text(as_yaml(resolved(experiment)))
        finish(run, experiment, skill, images, normal)
        return run.path

    return make


@pytest.fixture
def runs(make_run: MakeRun) -> list[Path]:
    return [make_run("good", 0.9), make_run("bad", 0.4)]


def compared(first: Path | list[Path], second: Path | list[Path], **more: Any) -> Comparison:
    sides = [side if isinstance(side, list) else [side] for side in (first, second)]
    return compare_runs(sides[0], sides[1], **{"resamples": 50, **more})


def printed(found: Comparison) -> str:
    text = io.StringIO()
    print_comparison(found, Console(file=text, width=120))
    return text.getvalue()


def matrices(run: Path) -> Any:
    return np.array([row["matrix"] for row in json.loads((run / "scores.json").read_text())])


def test_the_difference_is_paired(runs: list[Path]) -> None:
    found = compared(runs[0], runs[1], metric="iou_lesion")
    good, bad = matrices(runs[0]), matrices(runs[1])
    expected = paired_bootstrap(good, bad, ["a", "a", "b", "b", "c", "c"], lesion_iou, 50)
    assert [found.difference, *(found.interval or [])] == pytest.approx([100 * value for value in expected])
    assert found.values == pytest.approx([100 * lesion_iou(m.sum(0)) for m in (good, bad)])
    assert (found.groups, found.images) == (3, 6)
    better = np.mean(lesion_iou(good) > lesion_iou(bad))
    assert found.shares.better == pytest.approx(100 * better)
    assert sum(share or 0 for share in (found.shares.better, found.shares.worse, found.shares.same)) == pytest.approx(
        100
    )


def test_a_run_is_the_same_as_itself(runs: list[Path]) -> None:
    found = compared(runs[0], runs[0])
    assert (found.difference, found.interval, found.shares.same) == (0.0, [0.0, 0.0], 100.0)


def test_other_images_are_refused(runs: list[Path]) -> None:
    rows = json.loads((runs[1] / "scores.json").read_text())
    (runs[1] / "scores.json").write_text(json.dumps(rows[:-1]))
    with pytest.raises(DataError, match=r"good and .*bad were not measured on the same masks"):
        compared(runs[0], runs[1])


def test_an_unknown_metric_is_refused(runs: list[Path]) -> None:
    with pytest.raises(ConfigError, match="no metric 'iuo_lesion'; did you mean 'iou_lesion'"):
        compared(runs[0], runs[1], metric="iuo_lesion")


def test_the_table_says_it_in_few_lines(runs: list[Path]) -> None:
    lines = printed(compared(runs[0], runs[1])).splitlines()
    assert "first - second, 95 %" in lines[4]
    assert lines[5] == (
        "No winner is called (one seed each, and other seeds may differ; the interval rests on 3 groups of test images "
        "only)."
    )
    assert lines[6].startswith(
        "The interval rests on 3 groups: 3 groups of unknown kind (capsule); seeds not resampled"
    )
    assert lines[7].startswith("Of 6 of 6 images the first is on")
    assert len(lines) == 8


def test_one_group_has_no_interval_and_no_winner(make_run: MakeRun) -> None:
    found = compared(make_run("good", 0.9, images=2), make_run("bad", 0.4, images=2))
    assert found.interval is None and not found.told_apart and "the test images are one group" in found.conclusion
    assert "(no interval)" in printed(found)


def test_two_trained_models_are_no_systems(make_run: MakeRun) -> None:
    """Many groups and a wide gap; but another seed may close it."""
    found = compared(make_run("good", 0.9, images=40), make_run("bad", 0.4, images=40))
    assert found.interval is not None and found.interval[0] > 0 and found.groups == 20
    assert not found.told_apart and found.over == "images"
    assert found.conclusion.startswith(
        "Of these two trained models the first is ahead; neither system is called better"
    )


# -- several seeds --------------------------------------------------------------------------------------------------


def test_seeds_are_paired_and_drawn_too(make_run: MakeRun) -> None:
    first = [make_run(f"good{seed}", 0.9 + 0.01 * seed, seed, images=40) for seed in (2, 0, 1)]
    second = [make_run(f"bad{seed}", 0.4, seed, images=40) for seed in (0, 1, 2)]
    found = compared(first, second, resamples=1000)
    assert found.seeds == [0, 1, 2] and found.over == "seeds and images" and found.told_apart
    assert found.conclusion == "The first is better, over 3 seeds and 20 groups of test images."
    by_seed = [[miou(matrices(run).sum(0)) for run in sorted(side)] for side in (first, second)]
    assert found.values == pytest.approx([100 * np.mean(side) for side in by_seed])
    gains = np.array(by_seed[0]) - np.array(by_seed[1])
    assert found.difference == pytest.approx(100 * gains.mean())
    half = 4.30265 * gains.std(ddof=1) / 3**0.5  # Student's, over the seeds alone
    assert found.interval is not None and found.interval[1] - found.interval[0] > 1.9 * 100 * half


def test_seeds_that_disagree_carry_no_difference(make_run: MakeRun) -> None:
    first = [make_run(f"good{seed}", skill, seed, images=40) for seed, skill in enumerate((0.95, 0.65, 0.5))]
    second = [make_run(f"bad{seed}", 0.48, seed, images=40) for seed in range(3)]
    found = compared(first, second)
    assert (found.difference or 0) > 10 and not found.told_apart
    assert found.conclusion == "Not told apart: the interval contains 0."


def test_a_seed_of_one_side_is_left_out_and_named(make_run: MakeRun) -> None:
    first = [make_run(f"a{seed}", 0.9, seed) for seed in (0, 1, 7)]
    second = [make_run(f"b{seed}", 0.4, seed) for seed in (0, 1)]
    found = compared(first, second)
    assert found.seeds == [0, 1]
    assert found.notes == [f"{first[2]} is left out: seed 7 is only on its side."]


def test_two_runs_of_one_seed_on_a_side_are_refused(make_run: MakeRun) -> None:
    twice = [make_run("a", 0.9, 1), make_run("b", 0.4, 1)]
    with pytest.raises(ConfigError, match=r"a and .*b both have seed 1; give one run of a seed for each side"):
        compared(twice, make_run("c", 0.4, 1))


def test_sides_without_a_common_seed_are_refused_but_single_runs_are_paired(make_run: MakeRun) -> None:
    a, b, c = make_run("a", 0.9, 0), make_run("b", 0.9, 1), make_run("c", 0.4, 2)
    with pytest.raises(ConfigError, match=r"no seed in common \(0, 1 and 2\)"):
        compared([a, b], c)
    assert compared(a, c).notes == ["The seeds differ: 0 and 2."]


# -- what else differs ----------------------------------------------------------------------------------------------


def test_settings_that_differ_are_named_those_of_the_method_apart(make_run: MakeRun) -> None:
    found = compared(make_run("a", 0.9, method="lta", epochs=2), make_run("b", 0.4, epochs=5))
    assert found.settings == {"training.epochs": [[2], [5]]}
    assert found.method_settings["method.name"] == [["lta"], ["source_only"]]
    text = printed(found)
    assert "Settings that differ (first | second): training.epochs 2 | 5." in text
    assert "Of the method (first | second): method.name lta | source_only" in text


def test_the_same_settings_are_not_mentioned(make_run: MakeRun) -> None:
    found = compared(make_run("a", 0.9), make_run("b", 0.4, seed=1))
    assert found.settings == {} and found.method_settings == {} and "Settings" not in printed(found)


def test_unknown_settings_are_said(runs: list[Path]) -> None:
    (runs[1] / "config.yaml").unlink()
    (note,) = compared(runs[0], runs[1]).notes
    assert note == f"The settings of {runs[1]} are not known (no readable config.yaml), so they are not compared."


def test_a_collapsed_model_is_said(make_run: MakeRun) -> None:
    run = make_run("a", 0.9)
    rows = json.loads((run / "scores.json").read_text())
    for row in rows:
        row["matrix"] = [[sum(true), 0] for true in row["matrix"]]
    (run / "scores.json").write_text(json.dumps(rows))
    assert compared(run, make_run("b", 0.4)).notes == [f"{run}: predicts no lesion at all."]


# -- figures of one kind of image -----------------------------------------------------------------------------------


def test_less_paint_on_normal_images_is_better(make_run: MakeRun) -> None:
    runs = [make_run(name, skill, images=40, normal=True) for name, skill in (("good", 0.95), ("bad", 0.4))]
    found = compared(runs[0], runs[1], metric="normal_painted")
    assert (found.difference or 0) < -40 and found.shares.compared_images == 20 and found.shares.better == 100
    assert "the first is ahead" in found.conclusion
    within = compared(runs[0], runs[1], metric="iou_lesion_within")
    with_lesion = [m for m in matrices(runs[0]) if m[1].any()]
    assert within.values[0] == pytest.approx(100 * lesion_iou(np.sum(with_lesion, axis=0)))
    assert within.shares.compared_images == 20


# -- the command ----------------------------------------------------------------------------------------------------


def test_the_command_takes_two_runs_or_the_seeds_of_two_systems(make_run: MakeRun, tmp_path: Path) -> None:
    first, second = ([str(make_run(f"{name}{seed}", skill, seed)) for seed in (0, 1)] for name, skill in
                     (("a", 0.9), ("b", 0.4)))  # fmt: skip
    command = ["compare", *first, "--against", *second, "--out", str(tmp_path / "c.json"), "--metric", "iou_lesion"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["runs"] == [first, second] and written["seeds"] == [0, 1] and written["metric"] == "iou_lesion"
    assert "better" in written and "shares" not in written and written["conclusion"] in done.output.replace("\n", " ")
    assert CliRunner().invoke(app, ["compare", first[0], second[0]]).exit_code == 0
    failed = CliRunner().invoke(app, ["compare", *first, second[0]])
    assert isinstance(failed.exception, ConfigError) and "behind --against" in str(failed.exception)


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ("a b", "a b"),
        ("a --against b", "a --against b"),
        ("a --against b c --metric m", "a --against b --against c --metric m"),
        ("--against b c", "--against b --against c"),
        ("a --against", "a --against"),
        ("a --against --metric m", "a --metric m --against"),
    ],
)
def test_a_shell_may_expand_a_pattern_behind_against(given: str, parsed: str) -> None:
    assert repeated_option(given.split(), "--against") == parsed.split()
