"""The whole page of a trained benchmark: it stands alone, and its numbers are those of the runs."""

import csv
import json
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from markupsafe import escape
from PIL import Image
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.errors import ConfigError, DataError
from endotransfer.report import tsne
from endotransfer.report.gallery import gallery_section, read_scores
from endotransfer.report.html_report import write_report
from endotransfer.report.propagation_figure import propagation_section
from endotransfer.report.run_images import RunImages
from endotransfer.report.study import Run, read_study
from endotransfer.testing.fixtures import MakeExperiment
from tests.report.test_page import Parsed
from tests.report_study import HOSTILE, build_study, sweep_cells


@pytest.fixture(scope="module", autouse=True)
def _few_points() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tsne, "POINTS", 80)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_experiment: MakeExperiment) -> Path:
    folder = tmp_path_factory.mktemp("study") / "bench"
    folder.mkdir()
    build_study(folder, make_experiment)
    write_report(folder)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report" / "report.html").read_text(encoding="utf-8")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def cells(folder: Path) -> list[dict[str, Any]]:
    return list(json.loads((folder / "results.json").read_text())["cells"])


# -- the page -------------------------------------------------------------------------------------------------------


def test_the_page_asks_for_nothing_outside_itself(page: str) -> None:
    for name, found in Parsed(page).tags:
        for attribute in ("src", "href", "srcset"):
            assert (found.get(attribute) or "data:").startswith(("data:", "#")), name
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page


def test_a_hostile_name_is_shown_and_never_run(page: str) -> None:
    assert str(escape(HOSTILE)) in page
    assert not any("onerror" in found for _, found in Parsed(page).tags)
    assert HOSTILE in Parsed(page).text


def test_every_part_is_there_and_none_is_missing(page: str) -> None:
    sections = [found["id"] for name, found in Parsed(page).tags if name == "section"]
    assert sections == ["table", "predictions", "calibration", "propagation", "features", "curves"]
    assert 'class="missing"' not in page


def test_every_picture_has_a_text_for_those_who_do_not_see_it(page: str) -> None:
    assert all(found.get("alt") for name, found in Parsed(page).tags if name == "img")


def test_every_picture_on_disk_has_its_numbers_beside_it(folder: Path) -> None:
    pictures = sorted((folder / "report").glob("*.png"))
    assert len(pictures) >= 5
    for picture in pictures:
        Image.open(picture).verify()
        assert len(table(picture.with_suffix(".csv"))) > 0


# -- its numbers ----------------------------------------------------------------------------------------------------


def test_the_table_has_the_means_of_the_cells(folder: Path, page: str) -> None:
    for row in table(folder / "report" / "table.csv"):
        some = [cell for cell in cells(folder) if cell["label"] == row["system"]]
        assert float(row["mIoU"]) == pytest.approx(fmean(cell["miou"] for cell in some))
        assert int(row["seeds"]) == len(some)
        assert f"{float(row['mIoU']):.2f}" in page
    assert "+3.25" in page
    assert "+1.5 to +4.8" in page


def test_what_a_run_found_stands_under_the_table(folder: Path, page: str) -> None:
    remarks = [(cell["label"], remark) for cell in cells(folder) for remark in cell.get("remarks") or ()]
    assert remarks
    for label, remark in remarks:
        assert "<li>" + str(escape(f"{label}, seed 0: {remark}")) in page
    assert "runs found</summary>" not in page


def test_what_many_runs_found_is_folded(tmp_path: Path) -> None:
    made = [{**cell.to_dict(), "grid": None, "remarks": ["so it is."]} for cell in sweep_cells()]
    (tmp_path / "results.json").write_text(json.dumps({"cells": made}))
    page = write_report(tmp_path).read_text()
    assert f"What {len(made)} runs found</summary>" in page and page.count("so it is.") == len(made)


def test_the_curves_have_every_logged_row(folder: Path) -> None:
    for name, runs in (
        ("source-only", ["row0-seed0", "row0-seed1"]),
        ("img-src-x-onerror-alert-1-frac-1", ["row1-seed0"]),
    ):
        logged = [row for run in runs for row in table(folder / "runs" / run / "metrics.csv")]
        shown = table(folder / "report" / f"curves-{name}.csv")
        assert [{k: v for k, v in row.items() if k != "seed"} for row in shown] == logged


def test_predictions_carry_the_scores_of_each_system(folder: Path) -> None:
    runs = {"source_only": "row0-seed0", HOSTILE: "row1-seed0"}
    rows = table(folder / "report" / "predictions.csv")
    assert {row["kind"] for row in rows} == {"best", "median", "worst"}
    for row in rows:
        scores = read_scores(Run("", 0, folder / "runs" / runs[row["system"]]))
        assert scores is not None
        expected = scores.get(row["image"])
        assert row["iou"] == ("" if expected is None else str(expected.iou))


def test_a_leader_is_judged_by_its_own_scores_and_not_by_its_first_seed(folder: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    shutil.copytree(folder, study)
    raised = [{**cell, "miou": 100.0 if cell["run"] == "row0-seed1" else 1.0} for cell in cells(study)]
    (study / "results.json").write_text(json.dumps({"cells": raised}))
    gallery_section(read_study(study), RunImages(), tmp_path)
    scores = read_scores(Run("", 1, study / "runs" / "row0-seed1"))
    assert scores is not None
    shown = [row for row in table(tmp_path / "predictions.csv") if row["system"] == "source_only"]
    assert {row["image"]: row["iou"] for row in shown} == {row["image"]: str(scores[row["image"]].iou) for row in shown}
    other = read_scores(Run("", 0, study / "runs" / "row0-seed0"))
    assert other is not None and any(other[row["image"]] != scores[row["image"]] for row in shown)


def test_the_propagation_counts_the_kept_pixels(folder: Path) -> None:
    (path,) = (folder / "report").glob("propagation-*.csv")
    for row in table(path):
        kept = folder / "runs" / "row1-seed0" / "propagation" / f"epoch-{int(row['epoch']):03d}" / f"{row['image']}.png"
        labels = np.asarray(Image.open(kept))
        assert float(row["labelled"]) == pytest.approx((labels != 255).mean())
        assert float(row["share_lesion"]) == pytest.approx((labels == 1).mean())


def test_every_system_shows_the_same_pixels_of_both_domains(folder: Path) -> None:
    rows = table(folder / "report" / "tsne.csv")
    by_system = {
        system: [(row["domain"], row["class"], row["image"]) for row in rows if row["system"] == system]
        for system in ("source_only", HOSTILE)
    }
    assert by_system["source_only"] == by_system[HOSTILE]
    assert {row[:2] for row in by_system[HOSTILE]} == {
        (d, c) for d in ("source", "target") for c in ("normal", "lesion")
    }


# -- what may be missing --------------------------------------------------------------------------------------------


def copy_run(folder: Path, name: str, to: Path) -> Path:
    """A run of its own, with a single curve, since drawing takes most of the time."""
    shutil.copytree(folder / "runs" / name, to)
    lines = (to / "metrics.csv").read_text().splitlines(keepends=True)
    (to / "metrics.csv").write_text("".join(line for line in lines if ",name," in line or ",loss/net," in line))
    return to


def test_a_run_folder_is_reported_too_and_a_page_is_not_replaced_unasked(folder: Path, tmp_path: Path) -> None:
    run = copy_run(folder, "row0-seed0", tmp_path / "run")
    out = tmp_path / "page.html"
    assert write_report(run, out) == out
    assert "source_only" in out.read_text()
    with pytest.raises(ConfigError, match=r"exists already.*--force"):
        write_report(run, out)
    assert write_report(run, out, force=True) == out


def test_moved_images_are_found_with_data_and_named_as_missing_without(
    folder: Path, tmp_path: Path, tasks: dict[str, Path]
) -> None:
    run = copy_run(folder, "row1-seed0", tmp_path / "run")
    config = (run / "config.yaml").read_text().replace(str(tasks["tagged"]), "/nowhere")
    (run / "config.yaml").write_text(config)
    page = write_report(run).read_text()
    assert page.count('class="missing"') == 3  # predictions, maps without their images, features
    assert "/nowhere" in page
    assert 'class="missing"' not in write_report(run, data=[tasks["tagged"]]).read_text()


def test_a_sweep_is_its_heat_map_and_its_table(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"cells": [cell.to_dict() for cell in sweep_cells()]}))
    tags = Parsed(write_report(tmp_path).read_text()).tags
    assert (tmp_path / "report" / "sensitivity.png").exists()
    assert [found["id"] for name, found in tags if name == "section"] == ["sensitivity", "table"]


def test_figures_alone_make_a_table(tmp_path: Path) -> None:
    made = [{**cell.to_dict(), "grid": None} for cell in sweep_cells()]
    (tmp_path / "results.json").write_text(json.dumps({"cells": made}))
    page = write_report(tmp_path).read_text()
    assert page.count("No run folder") == 3
    assert "No run here stored pseudo-labels" in page


def test_a_missing_data_folder_and_a_read_only_place_are_told(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"cells": [cell.to_dict() for cell in sweep_cells()]}))
    with pytest.raises(DataError, match="there is no folder"):
        write_report(tmp_path, data=[tmp_path / "none"])
    (tmp_path / "report").write_text("a file")
    with pytest.raises(ConfigError, match="cannot write to"):
        write_report(tmp_path)


def test_a_run_without_its_model_or_scores_leaves_sentences(folder: Path, tmp_path: Path) -> None:
    run = copy_run(folder, "row0-seed0", tmp_path / "run")
    shutil.rmtree(run / "model")
    page = write_report(run).read_text()
    assert page.count("is not shown:") == 2
    (run / "scores.json").unlink()
    assert "no scores.json" in write_report(run).read_text()


def test_the_command_prints_where_the_page_is(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"cells": [cell.to_dict() for cell in sweep_cells()]}))
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 0
    assert str(tmp_path / "report" / "report.html") in done.output.replace("\n", "")


def test_without_photographs_no_figure_depends_on_what_an_image_shows(
    folder: Path, tasks: dict[str, Path], tmp_path: Path
) -> None:
    """The same labels with every image painted over: only a figure with photographs can tell."""
    painted = tmp_path / tasks["tagged"].name
    shutil.copytree(tasks["tagged"], painted)
    for path in painted.rglob("images/*"):
        Image.new("RGB", Image.open(path).size, "teal").save(path)

    def sheet(data: Path, photographs: bool) -> bytes:
        propagation_section(read_study(folder), RunImages([data], photographs=photographs), tmp_path)
        (png,) = tmp_path.glob("propagation-*.png")
        return png.read_bytes()

    assert sheet(tasks["tagged"], photographs=True) != sheet(painted, photographs=True)
    assert sheet(tasks["tagged"], photographs=False) == sheet(painted, photographs=False)


def test_predictions_without_photographs_are_few_flat_colours(folder: Path, tmp_path: Path) -> None:
    def colours(photographs: bool) -> int:
        gallery_section(read_study(folder), RunImages(photographs=photographs), tmp_path)
        sheet = np.asarray(Image.open(tmp_path / "predictions.png").convert("RGB"))
        return len(np.unique(sheet.reshape(-1, 3), axis=0))

    assert colours(photographs=False) < 400 < colours(photographs=True)
