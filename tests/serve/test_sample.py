"""Images drawn at random, and the IoU with an interval that they give."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from endotransfer.batch import Sample
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.reviewed import Review, write_review
from endotransfer.metrics import Scores
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.sample import draw_plan
from tests.serve.conftest import ids
from tests.serve.test_review import own_mask


def entries(count: int, test: int = 0) -> list[CatalogueEntry]:
    split = ["test" if n < test else "train" for n in range(count)]
    return [CatalogueEntry(str(n), f"{n:03d}", Sample(f"f/{n}", Path(str(n)), split=split[n])) for n in range(count)]


def test_a_draw_is_without_repetition_and_the_same_for_a_seed() -> None:
    plan = draw_plan(entries(50), 30, seed=4)
    assert len({*plan.images}) == 30
    assert plan.images == draw_plan(entries(50)[::-1], 30, seed=4).images
    assert plan.images != draw_plan(entries(50), 30, seed=5).images
    assert plan.drawn_from == "all"


def test_every_image_is_as_likely_as_any_other() -> None:
    counts = np.zeros(10)
    for seed in range(600):
        for name in draw_plan(entries(10), 3, seed=seed).images:
            counts[int(name)] += 1
    assert abs(counts - 180).max() < 60  # about five standard deviations


def test_a_divided_folder_is_drawn_from_its_test_images() -> None:
    plan = draw_plan(entries(50, test=8), 30)
    assert plan.drawn_from == "test"
    assert sorted(plan.images) == [f"{n:03d}" for n in range(8)]


def test_a_plan_is_kept_and_not_drawn_anew_unasked(client: TestClient, folder: Path) -> None:
    assert client.get("/api/sample").json() == {"plan": None}
    assert client.get("/api/sample/estimate").json()["code"] == "no-plan"
    plan = client.post("/api/sample", json={"count": 3}).json()["plan"]
    assert set(plan["ids"]) <= {*ids(client).values()}
    assert read_plan(folder).images == plan["images"]  # type: ignore[union-attr]
    assert client.post("/api/sample", json={"count": 3}).json()["code"] == "drawn"
    assert client.post("/api/sample", json={"count": 3, "replace": True}).status_code == 201
    assert client.post("/api/sample", json={"count": 0, "replace": True}).status_code == 422


@pytest.mark.parametrize("text", ["", "[1]", "images: 3\n", "images: [1]\ndrawn_from: all\nseed: 0\nwhen: x\n", "{"])
def test_a_damaged_plan_counts_as_none(client: TestClient, folder: Path, text: str) -> None:
    (folder / "reviewed").mkdir()
    (folder / "reviewed" / "sample.yaml").write_text(text)
    assert client.get("/api/sample").json() == {"plan": None}


def test_the_estimate_is_the_models_score_on_the_reviewed_images(client: TestClient, folder: Path) -> None:
    plan = client.post("/api/sample", json={"count": 4}).json()["plan"]
    known, scores = ids(client), Scores(["normal", "lesion"])
    assert client.get("/api/sample/estimate").json()["figures"] is None
    decisions: list[Any] = ["accepted", "corrected", "corrected", "rejected"]
    rows = {row["name"]: row for row in client.get("/api/images").json()["images"]}
    assert {*plan["images"]} <= {*rows}
    for number, (name, decision) in enumerate(zip(plan["images"], decisions, strict=True)):
        predicted = own_mask(client, known[name])
        mask = np.roll(predicted, number, axis=0)
        mask[:6, :6] = 1
        write_review(folder, name, Review(decision, "Ada", "now", "robust", "0"), mask)
        if decision != "rejected":
            sample = client.app.state.service.find(known[name]).sample  # type: ignore[attr-defined]
            scores.update(predicted, mask, key=sample.key, group=sample.group)
    found = client.get("/api/sample/estimate").json()
    summary = scores.summary(1000)
    assert (found["planned"], found["reviewed"], found["rejected"], found["accepted_unchanged"]) == (4, 3, 1, 1)
    assert found["figures"]["iou_lesion"] == pytest.approx(summary["iou_lesion"])
    assert found["intervals"]["miou"] == pytest.approx(summary["intervals"]["miou"])
    assert json.dumps(found)
