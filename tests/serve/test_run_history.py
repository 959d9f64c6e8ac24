"""The second tab: curves thinned but true, pseudo-labels by epoch, nothing outside the run."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from endotransfer.serve.run_history import CurveSeries, propagation_maps, read_curves, read_results
from tests.serve.conftest import MakeClient, pixels

HEAD = "step,epoch,stage,name,value\n"


def test_the_page_gets_every_term_and_every_pass(client: TestClient) -> None:
    robust, source = client.get("/api/runs").json()["runs"]
    assert {"loss/net", "pass/coverage", "pass/portion"} <= {*robust["curves"]}
    assert any(name.startswith("term/") for name in source["curves"])
    assert not any(name.startswith(("lr/", "norm/", "share/")) for name in robust["curves"])
    assert robust["results"]["method"] == "tag_transfer"
    assert [figure["title"] for figure in robust["results"]["figures"]] == [
        "mIoU", "IoU of normal", "IoU of lesions", "IoU of lesions within lesion images", "Normal images painted",
        "Calibration error", "Calibration error where lesion is probable",
    ]  # fmt: skip
    portion = robust["curves"]["pass/portion"]
    assert len(portion["epochs"]) == len(portion["values"]) == len(portion["steps"])
    assert source["propagation"] == []


def test_pseudo_labels_are_shown_by_image_and_epoch(client: TestClient, runs: list[Path]) -> None:
    grown = client.get("/api/runs").json()["runs"][0]["propagation"]
    assert grown
    for place, image in enumerate(grown):
        for epoch in image["epochs"]:
            content = client.get(f"/api/runs/0/propagation/{place}/{epoch}").content
            stored = runs[0] / "propagation" / f"epoch-{epoch:03d}" / f"{image['name']}.png"
            assert content == stored.read_bytes()
            assert pixels(content).shape == (32, 32)
        assert image["picture"] is not None  # the folder holds it, so that the labels can lie on it


@pytest.mark.parametrize(
    "path", ["0/propagation/99/1", "0/propagation/0/99", "5/propagation/0/1", "-1/propagation/0/1"]
)
def test_what_was_not_kept_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(f"/api/runs/{path}").status_code == 404


def test_a_model_without_a_run_has_no_curves(make_client: MakeClient, runs: list[Path]) -> None:
    (run,) = make_client([runs[0] / "model"]).get("/api/runs").json()["runs"]
    assert (run["curves"], run["propagation"], run["results"]) == ({}, [], {})


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", HEAD, HEAD + "1,0,s,loss/a\n", HEAD + "x,0,s,loss/a,1\n", "\0"])
def test_a_damaged_log_gives_no_curve(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics.csv").write_text(text)
    assert read_curves(tmp_path) == {}


def test_values_that_are_not_finite_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(HEAD + "1,0,s,loss/a,nan\n2,0,s,loss/a,0.5\n3,0,s,loss/a,inf\n")
    assert read_curves(tmp_path) == {"loss/a": CurveSeries([2], [0], [0.5])}


@pytest.mark.parametrize("count", [1, 299, 300, 301, 1000])
def test_a_long_curve_is_thinned_to_means(count: int) -> None:
    series = CurveSeries(list(range(count)), [0] * count, [float(value) for value in range(count)])
    thin = series.thinned(300)
    assert len(thin.values) == len(thin.steps) == len(thin.epochs) <= 300
    assert thin.steps[-1] == count - 1
    if count <= 300:
        assert thin.values == series.values
    else:
        assert thin.values[0] == pytest.approx(sum(series.values[: thin.steps[0] + 1]) / (thin.steps[0] + 1))


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_damaged_results_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text(text)
    assert read_results(tmp_path) == {}


def test_a_link_out_of_the_run_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    folder = tmp_path / "run" / "propagation" / "epoch-001" / "capsule"
    folder.mkdir(parents=True)
    (folder / "a.png").symlink_to(tmp_path / "secret.png")
    (folder / "b.png").write_bytes(b"own")
    (tmp_path / "run" / "propagation" / "epoch-x").mkdir()
    (tmp_path / "run" / "propagation" / "epoch-002").symlink_to(tmp_path)
    assert propagation_maps(tmp_path / "run") == {"capsule/b": {1: folder / "b.png"}}
