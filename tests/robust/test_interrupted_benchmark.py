"""A benchmark that is killed or stopped half way: finished cells are not repeated, the running one goes on."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from endotransfer.config import read_experiment
from endotransfer.engine.run import train

PATIENCE = 240  # seconds; a busy machine takes long to import torch


@pytest.fixture
def suite(make_experiment: Any, study: Path, tmp_path: Path) -> Path:
    """Two systems; the second takes so long that it is at work when the first is done."""
    raw = make_experiment("tagged", "source_only", data=study, epochs=1, steps_per_epoch=2).model_dump(mode="json")
    long = {"epochs": 2, "steps_per_epoch": 20, "checkpoint_every": 2}
    raw["systems"] = ["source_only", {"name": "lta", "preset": "single", "training": long}]
    path = tmp_path / "suite.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


@pytest.fixture
def start(suite: Path, tmp_path: Path) -> Any:
    """Start a benchmark in a process of its own and wait until `there` is."""
    started: list[subprocess.Popen[bytes]] = []

    def start(there: Callable[[], bool], *options: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "endotransfer.cli.main",
            "benchmark",
            str(suite),
            "--out",
            str(tmp_path / "out"),
        ]
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        started.append(process)
        wait_until(there, process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_until(there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while not there():
        assert process.poll() is None, process.communicate()[0].decode()
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def labels(out: Path) -> list[str]:
    path = out / "results.json"
    return [cell["label"] for cell in json.loads(path.read_text())["cells"]] if path.exists() else []


def checkpoints(out: Path, run: str) -> list[str]:
    return sorted(path.name for path in (out / "runs" / run / "checkpoints").glob("step-*"))


def test_a_killed_benchmark_repeats_no_finished_cell(start: Any, command: Any, suite: Path, tmp_path: Path) -> None:
    out, second = tmp_path / "out", "lta-single-seed0"
    process = start(lambda: labels(out) == ["source_only"] and bool(checkpoints(out, second)))
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = {path: path.stat().st_mtime_ns for path in (out / "runs" / "source_only-seed0").rglob("*")}
    assert not (out / "runs" / second / "results.json").exists()
    code, text = command("benchmark", suite, "--out", out)
    assert code == 0 and "1 of 2 cells are finished already" in text
    assert {path: path.stat().st_mtime_ns for path in first} == first
    assert labels(out) == ["source_only", "lta/single"]
    assert (out / "table.md").exists()
    # The second went on from its checkpoint, to the figures of one that was never killed.
    log = (out / "logs" / f"{second}.log").read_text()
    assert log.count("epoch 1 (train): step 20 of 40") <= 1
    straight = train(read_experiment(out / "runs" / second / "config.yaml"), tmp_path / "straight")
    assert straight is not None
    assert straight["iou"] == json.loads((out / "results.json").read_text())["cells"][1]["iou"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_cells_side_by_side_stop_with_their_benchmark(
    start: Any, command: Any, suite: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out, second = tmp_path / "out", "lta-single-seed0"
    process = start(lambda: labels(out) == ["source_only"] and bool(checkpoints(out, second)), "--jobs", "2")
    children = children_of(process.pid)
    assert len(children) >= 2
    process.send_signal(number)
    said = process.communicate(timeout=PATIENCE)[0].decode()
    end = time.monotonic() + 30
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []
    if number == signal.SIGTERM:
        assert process.returncode == 0 and "1 cells are still to be trained; the same command goes on" in said
    code, text = command("benchmark", suite, "--out", out)
    assert code == 0 and "1 of 2 cells are finished already" in text
    assert labels(out) == ["source_only", "lta/single"]


def children_of(parent: int) -> list[int]:
    """Processes that `parent` started, from /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def test_failed_cells_make_an_exit_code(command: Any, suite: Path, tmp_path: Path) -> None:
    overrides = ["--set", "training.lr=1e30", "--set", "systems=[source_only]", "--set", "training.steps_per_epoch=9"]
    code, text = command("benchmark", suite, "--out", tmp_path / "out", *overrides)
    assert code == 4
    assert "failed: source_only, seed 0: training stopped at step" in text
    assert json.loads((tmp_path / "out" / "results.json").read_text())["cells"][0]["error"]


def test_a_sweep_and_a_comparison_from_the_command_line(command: Any, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    options = ["--set", "method=semantic_transfer/paper", "--grid", "mu=1,10"]
    code, text = command("sweep", suite, "--out", out, *options)
    assert code == 2 and "semantic_transfer/paper" in text
    options[1] = "method={name: semantic_transfer, preset: paper}"
    code, text = command("sweep", suite, "--out", out, *options)
    assert code == 0 and "mIoU, per cent; across: mu" in text
    results = json.loads((out / "results.json").read_text())
    assert [cell["grid"] for cell in results["cells"]] == [{"mu": 1}, {"mu": 10}]
    assert results["matrix"]["miou"] == [cell["miou"] for cell in results["cells"]]
    assert len((out / "sweep.csv").read_text().splitlines()) == 3
    runs = [out / "runs" / f"mu={mu}-seed0" for mu in (1, 10)]
    code, text = command("compare", *runs, "--metric", "iou_lesion", "--out", tmp_path / "compared.json")
    assert code == 0 and "first - second" in text
    assert json.loads((tmp_path / "compared.json").read_text())["metric"] == "iou_lesion"
    assert command("compare", *runs, "--out", tmp_path / "compared.json")[0] == 2
    assert command("compare", runs[0])[0] == 2
    assert os.sep not in results["suite"]["data"]["source"][0]


def test_settings_are_searched_on_one_transfer_and_chosen_by_both(command: Any, suite: Path, tmp_path: Path) -> None:
    out, grids, other = tmp_path / "search", tmp_path / "grids.yaml", tmp_path / "search.csv"
    grids.write_text("lta: {weight: [0.5, 0.1]}")
    other.write_text("system,settings,seeds,miou\nlta,weight=0.5,1,0.0\nlta,weight=0.1,1,300.0\n")  # decides
    start = ["sweep", suite, "--out", out, "--set", "systems=[lta]"]
    assert command(*start, "--grid", "weight=0.1", "--beside", other)[0] == 2
    code, text = command(*start, "--grids", grids, "--beside", other)
    (line,) = (line for line in text.splitlines() if line.startswith("lta: "))
    assert code == 0 and line.startswith("lta: weight=0.1 (mIoU 1")
    rows = {line["settings"]: line for line in csv.DictReader((out / "search.csv").read_text().splitlines())}
    assert set(rows) == {"weight=0.5", "weight=0.1"}
    means = {settings: float(row["miou"]) for settings, row in rows.items()}
    assert line == f"lta: weight=0.1 (mIoU {(means['weight=0.1'] + 300) / 2:.2f})"
