"""The reviewed set leaves through the page: asked for, followed, fetched; and it is what was reviewed."""

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from endotransfer.data.folders.reviewed import read_reviewed_mask
from tests.serve.conftest import MakeClient, ids, png


def review_one(client: TestClient) -> str:
    """Draw a box on the first image; returns its name."""
    name, image = next(iter(ids(client).items()))
    height, width = client.get(f"/api/images/{image}").json()["shown"]
    mask = np.zeros((height, width))
    mask[3:20, 5:25] = 1
    answer = client.put(
        f"/api/images/{image}/review", headers={"If-Match": '"0"'}, files={"mask": png(mask)},
        data={"review": json.dumps({"decision": "corrected", "who": "Ann"})},
    )  # fmt: skip
    assert answer.status_code == 200
    return name


def wait(client: TestClient, job: str) -> dict[str, Any]:
    for _ in range(200):
        told: dict[str, Any] = client.get(f"/api/exports/{job}").json()
        if told["state"] != "running":
            return told
        time.sleep(0.05)
    raise AssertionError("the export does not end")


@pytest.mark.parametrize("form", ["native", "coco", "dicom-seg"])
def test_the_file_holds_the_reviewed_mask(client: TestClient, folder: Path, form: str) -> None:
    name = review_one(client)
    asked = client.post("/api/exports", json={"form": form})
    assert asked.status_code == 201
    told = wait(client, asked.json()["id"])
    assert (told["state"], told["images"]) == ("ready", 1)
    answer = client.get(f"/api/exports/{told['id']}/file")
    assert f"reviewed-{form}.zip" in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        assert {"reviews.csv", "reviews.json"} < set(packed.namelist())
        if form == "native":
            with Image.open(io.BytesIO(packed.read(f"masks/{name}.png"))) as mask:
                assert np.array_equal(np.asarray(mask) == 255, read_reviewed_mask(folder, name, 2) == 1)


def test_nothing_reviewed_is_said_and_unknown_things_are_refused(client: TestClient, folder: Path) -> None:
    told = wait(client, client.post("/api/exports", json={"form": "coco"}).json()["id"])
    assert (told["state"], told["fault"]) == ("failed", "no image has a reviewed mask yet; accept or correct some.")
    assert client.get(f"/api/exports/{told['id']}/file").status_code == 409
    assert client.get("/api/exports/../../etc").status_code == 404
    assert client.post("/api/exports", json={"form": "yolo"}).status_code == 422
    assert client.post("/api/exports", json={"form": "coco", "out": "/"}).status_code == 422
    assert [path.name for path in folder.iterdir() if "export" in path.name] == []


def test_what_goes_wrong_is_told_without_a_path(client: TestClient, folder: Path) -> None:
    name = review_one(client)
    (folder / "reviewed" / "gone.json").write_text("{")
    told = wait(client, client.post("/api/exports", json={"form": "coco"}).json()["id"])
    assert (told["state"], told["left_out"], told["left_out_count"]) == ("ready", ["gone"], 1)
    (folder / "images" / f"{name}.png").write_bytes(b"no picture")
    (folder / "classes.yaml").write_text("classes: 3")
    told = wait(client, client.post("/api/exports", json={"form": "coco"}).json()["id"])
    assert (told["state"], told["fault"]) == ("failed", "the export cannot be written; the terminal says why.")


def test_another_site_cannot_start_one_and_without_a_folder_there_is_none(
    client: TestClient, make_client: MakeClient, runs: list[Path]
) -> None:
    headers = {"X-Endotransfer": ""}
    del client.headers["X-Endotransfer"]
    assert client.post("/api/exports", json={"form": "coco"}).status_code == 403
    assert make_client(runs).post("/api/exports", json={"form": "coco"}, headers=headers).status_code == 409
