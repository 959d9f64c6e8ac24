"""*Retrain with these*: a process of its own that survives the viewer, stops, goes on, and is compared."""

import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from endotransfer.config import read_experiment
from endotransfer.results import Results
from tests.serve.conftest import MakeClient, ids, pixels
from tests.serve.learning.conftest import MakeStudy, confirm_truth, predicted
from tests.serve.test_page_types import compare


def job_of(client: TestClient) -> dict[str, Any]:
    return dict(client.get("/api/learning/job").json()["job"])


def wait(client: TestClient, *states: str, step: int = 0) -> dict[str, Any]:
    for _ in range(900):
        job = job_of(client)
        if job["state"] in states and job["step"] >= step:
            return job
        assert job["state"] in ("running", *states), job["message"]
        time.sleep(0.1)
    raise AssertionError(job)


def test_a_training_from_its_start_to_the_new_model(make_client: MakeClient, make_study: MakeStudy) -> None:
    run, folder = make_study(epochs=40, checkpoint_every=20)
    client = make_client([run], folder)
    assert client.post("/api/learning/job").json()["code"] == "nothing-reviewed"
    rows = predicted(client)
    confirm_truth(folder, [row["name"] for row in rows if row["split"] == "train" and row["tag"] == "lesion"][:3])
    assert client.get("/api/learning").json() == {"possible": True, "reason": "", "reviewed": 3, "job": None}
    assert client.get("/api/learning/comparison").json()["code"] == "not-done"

    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    begun = client.post("/api/learning/job").json()["job"]
    assert (begun["name"], begun["before"], begun["state"]) == ("first-reviewed-1", "first", "running")
    assert client.post("/api/learning/job").json()["code"] == "training"
    again = make_client([run], folder)  # as after a restart of the viewer
    seen = wait(again, "running", step=3)
    assert seen["steps"] == 120 and seen["left"] > 0 and "loss/net" in seen["curves"]
    assert again.delete("/api/learning/job").status_code == 200
    stopped = wait(again, "stopped", "done")
    assert stopped["state"] == "stopped"

    assert again.post("/api/learning/job/resume").status_code == 201
    done = wait(again, "done")
    assert done["step"] == 120
    assert again.post("/api/learning/job/resume").json()["code"] == "finished"
    new = run.with_name("first-reviewed-1")
    assert read_experiment(new / "config.yaml").data.reviewed == "use"
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    _compared(again, run, new)


def _compared(client: TestClient, run: Path, new: Path) -> None:
    found = client.get("/api/learning/comparison").json()
    old, fresh = (Results.read(one / "results.json") for one in (run, new))
    row = found["rows"][0]
    assert (found["basis"], row["name"]) == ("masks of test images", "miou")
    assert row["before"] == pytest.approx(old.figure("miou"), abs=0.01)
    assert row["after"] == pytest.approx(fresh.figure("miou"), abs=0.01)
    assert row["difference"] == pytest.approx(row["after"] - row["before"], abs=0.02)
    assert "one seed each" in found["conclusion"]
    compare("Compared", found)
    compare("FigureChange", row)
    compare("RetrainingJob", job_of(client))
    assert str(run.parent) not in client.get("/api/learning/comparison").text
    for image in found["changed"]:
        compare("ChangedImage", image)
        for side in ("before", "after", "truth"):
            assert pixels(client.get(f"/api/learning/comparison/{image['id']}/{side}").content).shape == (32, 32, 3)
    assert client.get(f"/api/learning/comparison/{next(iter(ids(client).values()))}/x").status_code == 404
    assert client.post("/api/learning/serve").status_code == 200
    assert [model["name"] for model in client.get("/api/about").json()["models"]] == [new.name, run.name]
    assert job_of(client)["state"] == "done"  # the new model knows how it came about
    assert client.get("/api/learning/comparison").json()["rows"] == found["rows"]


def test_an_error_is_shown_as_its_sentence(make_client: MakeClient, make_study: MakeStudy) -> None:
    run, folder = make_study(epochs=1)
    client = make_client([run], folder)
    predicted(client)
    names = [path.stem for path in sorted((folder / "images").iterdir())]
    confirm_truth(folder, names)
    assert client.get("/api/learning").json()["possible"]
    (folder.parent / "gastroscopy").rename(folder.parent / "elsewhere")
    client.post("/api/learning/job")
    failed = wait(client, "failed")
    assert "gastroscopy" in failed["message"] and str(folder.parent) not in failed["message"]
    assert not run.with_name("first-reviewed-1").exists()  # nothing was begun


def test_what_cannot_be_trained_again_is_said(make_client: MakeClient, runs: list[Path], folder: Path) -> None:
    for run, word in ((runs[1] / "model", "without its run"), (runs[1], "no target of the run")):
        client = make_client([run], folder)
        about = client.get("/api/learning").json()
        assert about["possible"] is False and word in about["reason"]
        said = client.post("/api/learning/job")
        assert (said.status_code, said.json()["code"]) == (409, "cannot-retrain")
        assert client.get("/api/learning/job").json() == {"job": None}
        assert client.delete("/api/learning/job").json()["code"] == "no-job"
