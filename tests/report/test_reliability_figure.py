"""The reliability diagram shows the bins that results.json holds, and says so where there are none."""

import csv
from pathlib import Path

from endotransfer.compare.benchmark_results import BenchmarkCell, BenchmarkResults
from endotransfer.engine.calibration_text import UNKNOWN, calibration_text
from endotransfer.metrics.pixel_calibration import CalibrationSummary
from endotransfer.metrics.reliability import ReliabilityBin
from endotransfer.report.reliability_figure import reliability_section
from endotransfer.report.study import Study
from endotransfer.results import Results

BINS = [ReliabilityBin(0.1, 0.15, 300, 0.12, 0.05), ReliabilityBin(0.95, 1.0, 100, 0.97, 0.6)]


def found(ece: float) -> CalibrationSummary:
    return CalibrationSummary(
        pixels=400, ece=ece, ece_lesion=14.5, lesion_probability=97.0, lesion_precision=60.0, brier=0.1, bins=BINS
    )


def study(path: Path, *calibrations: CalibrationSummary | None) -> Study:
    cells = [
        BenchmarkCell.of_run(Results(method="source_only", seed=seed, classes=["normal", "lesion"], calibration=one))
        for seed, one in enumerate(calibrations)
    ]
    return Study(path, BenchmarkResults(cells=cells))


def test_the_diagram_shows_what_the_results_hold(tmp_path: Path) -> None:
    section = reliability_section(study(tmp_path, found(1.0), found(2.0), None), tmp_path)
    assert "source_only, ECE 1.5, of lesions 14.5" in section.body
    assert (tmp_path / "calibration.png").stat().st_size > 1000
    with (tmp_path / "calibration.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["seed"], row["low"], row["observed"]) for row in rows[:2]] == [
        ("0", "0.1", "0.05"),
        ("0", "0.95", "0.6"),
    ]
    assert len(rows) == 4


def test_runs_of_before_are_said_to_have_no_figures(tmp_path: Path) -> None:
    assert "No run here has calibration figures" in reliability_section(study(tmp_path, None), tmp_path).body
    assert list(tmp_path.iterdir()) == []


def test_the_card_says_where_lesion_is_said_and_how_often_it_is() -> None:
    text = calibration_text(found(1.3))
    assert "expected calibration error is 1.3 %" in text and "(0.1 or more) it is 14.5 %" in text
    assert "mean probability is 97.0 %, and 60.0 % of these pixels are lesion" in text
    assert "| 0.95 to 1.00 | 100 | 0.970 | 0.600 |" in text
    assert calibration_text(None) == UNKNOWN


def test_results_with_calibration_survive_their_file(tmp_path: Path) -> None:
    results = Results(method="source_only", calibration=found(1.3))
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results
