"""A metric is one file: from there into results.json, tables, report and viewer."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import yaml
from rich.console import Console
from starlette.testclient import TestClient

from endotransfer import api
from endotransfer.metrics import FIGURES, Scores
from endotransfer.plugins import VARIABLE, import_modules
from endotransfer.report.benchmark_table import print_benchmark
from endotransfer.report.tables import print_results
from endotransfer.results import Results
from endotransfer.serve.app import create_app
from endotransfer.testing.fixtures import MakeExperiment
from tests.docs.pages import ROOT, blocks

FILE = blocks(ROOT / "docs" / "adding-a-metric.md", "python")[0]  # the worked example of the docs


class Measured(NamedTuple):
    out: Path
    run: Path
    benchmark: api.BenchmarkRun

    @property
    def results(self) -> Results:
        return Results.read(self.run / "results.json")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, make_experiment: MakeExperiment) -> Iterator[Measured]:
    """A benchmark of two systems, one training step each, after the one new file was imported."""
    folder = tmp_path_factory.mktemp("added")
    (folder / "added_specificity.py").write_text(FILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FIGURES, "_things", dict(FIGURES._things))
        patch.setenv(VARIABLE, "")
        import_modules([str(folder / "added_specificity.py")])
        raw = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1).model_dump(mode="json")
        suite = {key: value for key, value in raw.items() if value is not None}
        suite |= {"systems": ["source_only", "target_supervised"]}
        (folder / "suite.yaml").write_text(yaml.safe_dump(suite))
        benchmark = api.benchmark(folder / "suite.yaml", folder / "out", console=Console(quiet=True))
        yield Measured(folder / "out", folder / "out" / "runs" / "source_only-seed0", benchmark)
    sys.modules.pop("added_specificity", None)


def printed(draw: object) -> str:
    text = io.StringIO()
    assert callable(draw)
    draw(Console(file=text, width=120))
    return text.getvalue()


def test_results_json_has_it(measured: Measured) -> None:
    content = json.loads((measured.run / "results.json").read_text())
    matrices = [row["matrix"] for row in json.loads((measured.run / "scores.json").read_text())]
    normal = sum(matrix[0][0] for matrix in matrices), sum(sum(matrix[0]) for matrix in matrices)
    assert content["specificity"] == pytest.approx(100 * normal[0] / normal[1])
    assert content["largest_image"] == 32 * 32
    assert all("specificity" in finding for finding in content["by_finding"].values())
    assert content["intervals"]["specificity"] is None  # one patient says nothing about the next


@pytest.mark.usefixtures("measured")
def test_patients_give_it_an_interval() -> None:
    scores, draw = Scores(["normal", "lesion"]), np.random.default_rng(0)
    for image in range(6):
        truth, prediction = draw.integers(0, 2, (2, 8, 8))
        scores.update(prediction, truth, key=str(image), group=f"patient {image // 2}")
    summary = scores.summary(resamples=50)
    ends, value = summary.interval("specificity"), summary.figure("specificity")
    assert ends is not None and value is not None and ends[0] <= value <= ends[1]


def test_it_is_read_back_even_where_its_file_is_not_there(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    before = measured.results
    monkeypatch.setattr(FIGURES, "_things", {"miou": FIGURES.get("miou")})
    assert measured.results == before and before.figure("specificity") is not None


def test_the_table_of_a_run_has_its_column(measured: Measured) -> None:
    text = printed(lambda console: print_results([measured.results], console))
    assert "Spec" in text and f"{measured.results.figure('specificity'):.2f}" in text
    assert "Spec: normal pixels left unmarked" in " ".join(text.split())


def test_the_tables_of_a_benchmark_have_its_column(measured: Measured) -> None:
    value = measured.results.figure("specificity")
    rows = list(csv.DictReader((measured.out / "table.csv").read_text().splitlines()))
    assert float(rows[0]["Spec"]) == pytest.approx(value, abs=1e-4)
    markdown, latex = (measured.out / "table.md").read_text(), (measured.out / "table.tex").read_text()
    assert "| mIoU | Pixels | Spec |" in markdown and f"{value:.2f}" in markdown
    assert "Spec: normal pixels left unmarked" in markdown
    assert r"Spec($\%$)" in latex and f"{value:.2f}" in latex and "Pixels &" in latex
    assert "Spec" in printed(lambda console: print_benchmark(measured.benchmark.results, console))


def test_systems_are_compared_by_it(measured: Measured) -> None:
    summary = {entry.label: entry for entry in measured.benchmark.results.summary}
    bound = summary["target_supervised"]
    assert bound.mean["specificity"] is not None
    assert bound.differences is not None and bound.differences.figures["specificity"].mean is not None
    first, second = (measured.out / "runs" / f"{label}-seed0" for label in summary)
    found = api.compare_runs(first, second, metric="specificity", resamples=20)
    assert found.values[0] == pytest.approx(summary["source_only"].mean["specificity"])


def test_the_report_shows_it(measured: Measured) -> None:
    page = api.write_report(measured.out, console=Console(quiet=True)).read_text()
    assert ">Spec</button>" in page and f"{measured.results.figure('specificity'):.2f}" in page
    assert "Spec: normal pixels left unmarked" in page


def test_the_viewer_gets_it(measured: Measured) -> None:
    with TestClient(
        create_app([measured.run], None), base_url="http://127.0.0.1:8731", client=("127.0.0.1", 50000),
        headers={"X-Endotransfer": "page"},
    ) as client:  # fmt: skip
        (run,) = client.get("/api/runs").json()["runs"]
    shown = {figure["name"]: figure for figure in run["results"]["figures"]}
    assert list(shown) == [
        "miou", "iou_normal", "iou_lesion", "iou_lesion_within", "normal_painted", "largest_image", "specificity",
        "calibration.ece", "calibration.ece_lesion",
    ]  # fmt: skip
    value = pytest.approx(measured.results.figure("specificity"))
    assert shown["specificity"] == {"name": "specificity", "title": "Specificity", "value": value, "unit": "%"}
