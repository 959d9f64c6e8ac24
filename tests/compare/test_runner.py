"""A benchmark that is stopped, carried away, damaged or changed: no finished cell is trained twice."""

import io
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from endotransfer.compare import runner
from endotransfer.compare.benchmark_results import BenchmarkResults
from endotransfer.compare.folder_lock import LOCK
from endotransfer.compare.run_cell import Outcome, Task, run_cell
from endotransfer.compare.suite import Suite
from endotransfer.data.pipeline.decode_cache import DecodeCache
from endotransfer.errors import ConfigError, DataError
from endotransfer.report.benchmark_table import write_tables
from tests.compare.conftest import FakeTraining, MakeSuite

SYSTEMS = ["source_only", "lta", {"name": "semantic_transfer", "preset": "paper", "label": "Ours"}]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def said() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def run(out: Path, said: io.StringIO) -> Callable[..., Any]:
    def benchmark(suite: Suite, **options: Any) -> Any:
        return runner.run_benchmark(suite, out, console=Console(file=said, width=200), **options)

    return benchmark


def test_systems_times_seeds(training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path, said: Any) -> None:
    results, missing = run(make_suite(SYSTEMS), seeds=2, command="endotransfer benchmark ...")
    assert missing == []
    assert [call[:2] for call in training.calls] == [
        ("source_only-seed0", 0), ("lta-seed0", 0), ("Ours-seed0", 0),
        ("source_only-seed1", 1), ("lta-seed1", 1), ("Ours-seed1", 1),
    ]  # fmt: skip
    cells = [(cell["label"], cell["method"], cell["preset"], cell["seed"]) for cell in results["cells"]]
    assert cells[2:] == [
        ("lta", "lta", "multi", 0), ("lta", "lta", "multi", 1),
        ("Ours", "semantic_transfer", "paper", 0), ("Ours", "semantic_transfer", "paper", 1),
    ]  # fmt: skip
    assert all({"iou", "miou", "digest", "wall_seconds", "intervals"} <= cell.keys() for cell in results["cells"])
    assert results["command"] == "endotransfer benchmark ..."
    assert results["suite"]["systems"] == ["source_only", "lta", "Ours"]
    assert json.loads((out / "results.json").read_text()) == results.to_dict()
    assert str(out.parent) not in (out / "results.json").read_text()  # no path of this machine
    assert "6 of 6: Ours, seed 1: mIoU" in said.getvalue()


def test_what_is_finished_is_not_trained_again(training: FakeTraining, make_suite: MakeSuite, run: Any) -> None:
    suite = make_suite(SYSTEMS)
    before, _ = run(suite)
    after, _ = run(suite, seeds=2)
    assert [call[0] for call in training.calls[3:]] == ["source_only-seed1", "lta-seed1", "Ours-seed1"]
    assert [cell for cell in after["cells"] if cell["seed"] == 0] == before["cells"]
    fewer, _ = run(suite, seeds=1)
    assert len(fewer["cells"]) == 6  # what is not asked for today is kept
    assert len(training.calls) == 6


def test_results_alone_can_be_carried_to_another_machine(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path
) -> None:
    suite = make_suite(SYSTEMS)
    run(suite, seeds=3, only=["source_only", "lta"])
    for folder in ("runs", "scores", "logs"):
        shutil.rmtree(out / folder)
    calls = len(training.calls)
    results, missing = run(suite, seeds=3)
    assert [call[0] for call in training.calls[calls:]] == ["Ours-seed0", "Ours-seed1", "Ours-seed2"]
    assert missing == []
    differences = {entry["label"]: entry["differences"] for entry in results["summary"]}
    assert differences["lta"]["over"] == "seeds"
    assert "missing" in differences["lta"]["note"]


def test_a_row_with_settings_of_its_own_is_named_below_the_table(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path
) -> None:
    suite = make_suite(
        ["source_only", "lta", {"label": "long", "name": "semantic_transfer", "training": {"epochs": 7}}]
    )
    results, _ = run(suite)
    assert [entry.get("settings", {}) for entry in results["summary"]] == [{}, {}, {"training.epochs": [7, 1]}]
    note = "long was trained otherwise: training.epochs 7 (the other rows: 1)."
    (path, *_) = write_tables(results, out)
    assert note in path.read_text()
    older = json.loads((out / "results.json").read_text())
    for cell in older["cells"]:
        cell.pop("settings")  # as older versions wrote them
    (out / "results.json").write_text(json.dumps(older))
    again, _ = run(suite)
    assert again.summary == results.summary and len(training.calls) == 3


def test_three_seeds_give_intervals_over_seeds_and_images(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path
) -> None:
    results, _ = run(make_suite(SYSTEMS), seeds=3)
    lta = next(entry for entry in results.summary if entry.label == "lta")
    assert lta.differences is not None and lta.intervals is not None
    for basis in (lta.differences, lta.intervals):
        assert (basis.over, basis.seeds, basis.groups) == ("seeds and images", [0, 1, 2], 3)
    assert lta.intervals.ends["miou"] is not None
    written = json.loads((out / "results.json").read_text())
    assert BenchmarkResults.model_validate(written).summary == results.summary
    (path, *_) = write_tables(results, out)
    text = path.read_text()
    said = "Intervals (95 %) are over 3 seeds and 3 groups of test images: 3 groups of unknown kind (capsule)."
    assert said in text
    assert "No row is marked as best: the test images are only 3 groups." in text
    assert "~ |" in text and "~: not told apart from it" in text


def test_run_folders_alone_are_enough(training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path) -> None:
    before, _ = run(make_suite(SYSTEMS))
    (out / "results.json").unlink()
    after, _ = run(make_suite(SYSTEMS))
    assert len(training.calls) == 3
    without = [{key: value for key, value in cell.items() if key != "wall_seconds"} for cell in before["cells"]]
    assert after["cells"] == without


def test_a_damaged_file_is_set_aside_and_the_runs_are_read(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path, said: io.StringIO
) -> None:
    run(make_suite(SYSTEMS))
    (out / "results.json").write_text("{half a file")
    (out / "runs" / "lta-seed0" / "results.json").write_text("[]")
    results, missing = run(make_suite(SYSTEMS))
    assert (out / "results.json.damaged").read_text() == "{half a file"
    assert "results.json is damaged" in said.getvalue()
    assert [call[0] for call in training.calls[3:]] == ["lta-seed0"]
    assert (len(results["cells"]), missing) == (3, [])


def test_a_damaged_cell_is_left_out_and_trained_again(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path, said: io.StringIO
) -> None:
    results, _ = run(make_suite(SYSTEMS))
    raw = results.to_dict()
    del raw["cells"][1]["digest"]
    (out / "results.json").write_text(json.dumps(raw))
    shutil.rmtree(out / "runs")
    run(make_suite(SYSTEMS))
    assert [call[0] for call in training.calls[3:]] == ["lta-seed0"]
    assert "1 cells of" in said.getvalue()


def test_changed_settings_are_refused_unless_forced(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path
) -> None:
    run(make_suite(SYSTEMS))
    changed = make_suite([*SYSTEMS[:2], {"name": "tag_transfer", "label": "Ours"}])
    with pytest.raises(ConfigError, match="holds 'Ours' with seed 0, trained with other settings"):
        run(changed)
    (out / "results.json").unlink()  # the run folder tells as well
    with pytest.raises(ConfigError, match="other settings"):
        run(changed)
    results, _ = run(changed, force=True)
    assert [call[0] for call in training.calls[3:]] == ["Ours-seed0"]
    assert results.cells[2].results.method == "tag_transfer"


def test_a_shared_run_is_trained_once(training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path) -> None:
    systems = [*SYSTEMS, {"label": "twin", "same_as": "Ours", "group": "g"}]
    results, missing = run(make_suite(systems))
    assert len(training.calls) == 3
    ours, twin = results["cells"][2:]
    assert (twin["label"], twin["same_as"], twin["group"], twin["run"]) == ("twin", "Ours", "g", "Ours-seed0")
    assert twin["miou"] == ours["miou"]
    assert missing == []
    again, _ = run(make_suite([*SYSTEMS, {"label": "third", "same_as": "Ours"}]))
    assert "group" not in again["cells"][3]
    assert len(training.calls) == 3


def test_a_failed_cell_does_not_stop_the_others_and_is_tried_again(
    training: FakeTraining, make_suite: MakeSuite, run: Any, said: io.StringIO
) -> None:
    training.fails = {"lta"}
    systems = [*SYSTEMS, {"label": "twin", "same_as": "lta"}]
    results, missing = run(make_suite(systems))
    assert [cell.key for cell in missing] == [("lta", 0), ("twin", 0)]
    failed = [cell for cell in results["cells"] if "error" in cell]
    assert [cell["error"] for cell in failed] == ["loss/net is not finite; lower training.lr."] * 2
    assert [entry["label"] for entry in results["summary"]] == ["source_only", "Ours"]
    assert "lta, seed 0: loss/net is not finite" in said.getvalue()
    training.fails = set()
    results, missing = run(make_suite(systems))
    assert training.calls[3:] == [("lta-seed0", 0, True)]
    assert missing == [] and not any("error" in cell for cell in results["cells"])


def test_an_error_that_nobody_foresaw_fails_its_cell_alone(
    training: FakeTraining, make_suite: MakeSuite, run: Any, said: io.StringIO, out: Path
) -> None:
    training.breaks = {"lta"}
    results, missing = run(make_suite(SYSTEMS))
    assert [cell.key for cell in missing] == [("lta", 0)]
    assert [entry["label"] for entry in results["summary"]] == ["source_only", "Ours"]
    sentence = "an unexpected ValueError ended it, told in logs/lta-seed0.log; the same command tries it again."
    assert [cell.error for cell in results.failed] == [sentence]
    assert f"lta, seed 0: {sentence}" in said.getvalue()
    log = (out / "logs" / "lta-seed0.log").read_text()
    assert "Traceback (most recent call last)" in log and "ValueError: a fault of the program" in log
    training.breaks = set()
    results, missing = run(make_suite(SYSTEMS))
    assert [call[0] for call in training.calls[3:]] == ["lta-seed0"]
    assert missing == [] and results.failed == []


def test_keys_still_stop_everything(
    training: FakeTraining, make_suite: MakeSuite, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("endotransfer.compare.run_cell.train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(make_suite(SYSTEMS))


def test_a_stopped_benchmark_goes_on_from_the_running_cell(
    training: FakeTraining, make_suite: MakeSuite, run: Any
) -> None:
    training.stops = 1
    results, missing = run(make_suite(SYSTEMS))
    assert [cell.key[0] for cell in missing] == ["lta", "Ours"]
    assert len(results["cells"]) == 1
    training.stops = None
    _, missing = run(make_suite(SYSTEMS))
    assert training.calls[2:] == [("lta-seed0", 0, True), ("Ours-seed0", 0, False)]
    assert missing == []


def test_a_run_begun_from_other_folders_is_begun_anew(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path, tasks: dict[str, Path], tmp_path: Path
) -> None:
    training.stops = 0
    run(make_suite(SYSTEMS))
    training.stops = None
    moved = shutil.copytree(tasks["tagged"], tmp_path / "moved")
    overrides = [f"data.source={moved}/gastroscopy", f"data.target={moved}/capsule"]
    run(make_suite(SYSTEMS, overrides))
    assert training.calls[1] == ("source_only-seed0", 0, False)
    assert "begun anew" in (out / "logs" / "source_only-seed0.log").read_text()


def test_only_the_named_rows_are_trained(training: FakeTraining, make_suite: MakeSuite, run: Any) -> None:
    _, missing = run(make_suite(SYSTEMS), only=["lta"])
    assert [call[0] for call in training.calls] == ["lta-seed0"]
    assert [cell.key[0] for cell in missing] == ["source_only", "Ours"]
    with pytest.raises(ConfigError, match="--only lpa: no system is called so; did you mean 'lta'"):
        run(make_suite(SYSTEMS), only=["lpa"])


def test_missing_data_show_before_anything_is_trained(
    training: FakeTraining, make_suite: MakeSuite, run: Any, out: Path
) -> None:
    with pytest.raises(DataError, match=r"system 'source_only': .*nowhere"):
        run(make_suite(SYSTEMS, ["data.source=nowhere"]))
    assert training.calls == []
    run(make_suite(SYSTEMS))  # the folder that the refused command made is no obstacle


def test_finished_cells_need_no_data(training: FakeTraining, make_suite: MakeSuite, run: Any) -> None:
    run(make_suite(SYSTEMS))
    suite = make_suite(SYSTEMS, ["data.source=/far/away/gastroscopy", "data.target=/far/away/capsule"])
    _, missing = run(suite)
    assert missing == []


def test_a_foreign_folder_is_not_written_into(make_suite: MakeSuite, run: Any, out: Path) -> None:
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match="holds no benchmark"):
        run(make_suite(SYSTEMS))
    shutil.rmtree(out)
    out.write_text("a file")
    with pytest.raises(ConfigError, match="is a file"):
        run(make_suite(SYSTEMS))


def test_tables_are_written_after_every_cell(training: FakeTraining, make_suite: MakeSuite, run: Any) -> None:
    seen: list[int] = []
    run(make_suite(SYSTEMS), written=lambda results: seen.append(len(results["cells"])))
    assert seen == [1, 2, 3, 3]


def test_a_phantom_is_drawn_once(
    training: FakeTraining, make_suite: MakeSuite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    small = {"images": 12, "size": 32}

    def run(suite: Suite, **options: Any) -> None:  # a relative --out starts from here, not from the suite's folder
        runner.run_benchmark(suite, Path("out"), console=Console(quiet=True), **options)

    run(make_suite(["source_only"], data={}, phantom=small))
    table = elsewhere / "out" / "phantom" / "capsule" / "labels.csv"
    drawn = table.stat().st_mtime_ns
    run(make_suite(["source_only"], data={}, phantom=small), seeds=2)
    assert (table.stat().st_mtime_ns, len(training.calls)) == (drawn, 2)
    other = make_suite(["source_only"], data={}, phantom=small | {"seed": 5})
    with pytest.raises(ConfigError, match="other settings"):
        run(other)
    with pytest.raises(ConfigError, match="was drawn with"):
        run(other, force=True)


def test_a_second_benchmark_waits_outside(make_suite: MakeSuite, run: Any, out: Path) -> None:
    import subprocess
    import sys

    out.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl; f = open({str(out / LOCK)!r}, 'w'); "
         "fcntl.lockf(f, fcntl.LOCK_EX); print('held', flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(ConfigError, match="another benchmark is at work"):
            run(make_suite(SYSTEMS))
    finally:
        holder.communicate(b"\n")


def test_a_cell_that_would_not_end_in_time_is_left_for_another_time(
    training: FakeTraining, make_suite: MakeSuite, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, now = make_suite(SYSTEMS), [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])

    def forty_seconds(task: Task, cache: DecodeCache) -> Outcome:
        outcome = run_cell(task, cache)
        now[0] += 0.0 if outcome.stopped else 40.0
        return replace(outcome, seconds=40.0)

    monkeypatch.setattr(runner, "run_cell", forty_seconds)
    _, missing = run(suite, minutes=1.5)  # the third would end after two minutes
    assert [cell.row.label for cell in missing] == ["Ours"] and len(training.calls) == 2
    _, missing = run(suite, minutes=0.5)  # a new time, and still too little
    assert len(missing) == 1 and len(training.calls) == 2
    assert run(suite, minutes=1)[1] == [] and len(training.calls) == 3
    assert run(suite, minutes=0)[1] == []  # what is finished needs no time


@pytest.mark.slow
def test_processes_side_by_side_begin_nothing_after_the_time(make_suite: MakeSuite, run: Any, out: Path) -> None:
    results, missing = run(make_suite(["source_only", "lta"]), jobs=2, minutes=0)
    assert len(missing) == 2 and results["cells"] == [] and not (out / "runs").exists()
