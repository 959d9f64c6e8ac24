"""Images drawn at random, and the IoU with an interval that they give."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from endotransfer.batch import Sample
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.review_record import Review
from endotransfer.data.folders.reviewed import write_review
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


@pytest.mark.parametrize("text", ["", "[1]", "\timages: 3\n", "{"])
def test_a_plan_that_cannot_be_read_is_said_and_stays(client: TestClient, folder: Path, text: str) -> None:
    (folder / "reviewed").mkdir()
    (folder / "reviewed" / "sample.yaml").write_text(text)
    for said in (
        client.get("/api/sample"),
        client.get("/api/sample/estimate"),
        client.post("/api/sample", json={"count": 3, "replace": True}),
    ):
        assert (said.status_code, said.json()["code"]) == (409, "bad-sample")
        assert str(folder) not in said.text
    assert (folder / "reviewed" / "sample.yaml").read_text() == text


def read_blindly(folder: Path, name: str, who: str, mask: np.ndarray, **more: Any) -> None:
    write_review(folder, name, Review("corrected", who, "now", None, "0", blind=True, **more), mask)


def test_the_estimate_is_the_models_score_on_what_was_drawn_blind(client: TestClient, folder: Path) -> None:
    plan = client.post("/api/sample", json={"count": 4}).json()["plan"]
    known, scores = ids(client), Scores(["normal", "lesion"])
    assert client.get("/api/sample/estimate").json()["figures"] is None
    seen: list[Any] = ["accepted", "rejected"]
    for number, name in enumerate(plan["images"]):
        predicted = own_mask(client, known[name])
        mask = np.roll(predicted, number, axis=0)
        mask[:6, :6] = 1
        if number < 2:
            write_review(folder, name, Review(seen[number], "Ada", "now", "robust", "0"), mask)
            continue
        read_blindly(folder, name, "Ada", mask)
        sample = client.app.state.service.find(known[name]).sample  # type: ignore[attr-defined]
        scores.update(predicted, mask, key=sample.key, group=sample.group)
    found = client.get("/api/sample/estimate").json()
    summary = scores.summary(1000)
    assert (found["planned"], found["reviewed"], found["blind"], found["rejected"]) == (4, 3, 2, 1)
    assert (found["accepted_unchanged"], found["corrected_seen"]) == (1, 0)
    assert found["figures"]["iou_lesion"] == pytest.approx(summary["iou_lesion"])
    assert found["intervals"]["miou"] == pytest.approx(summary["intervals"]["miou"])
    assert json.dumps(found)


def test_thirty_accepts_are_no_iou(client: TestClient, folder: Path) -> None:
    plan = client.post("/api/sample", json={"count": 4}).json()["plan"]
    known = ids(client)
    for name in plan["images"]:
        review = Review("accepted", "Ada", "now", "robust", "0", 0.5)
        write_review(folder, name, review, own_mask(client, known[name]))
    found = client.get("/api/sample/estimate").json()
    assert (found["accepted_unchanged"], found["blind"]) == (4, 0)
    assert (found["figures"], found["intervals"]) == (None, None)


def test_readers_are_compared_where_both_drew_blindly(client: TestClient, folder: Path) -> None:
    plan = client.post("/api/sample", json={"count": 4}).json()["plan"]
    scores, known = Scores(["normal", "lesion"]), ids(client)
    for number, name in enumerate(plan["images"]):
        one, other = np.zeros((32, 32), np.uint8), np.zeros((32, 32), np.uint8)
        one[: 8 + number], other[: 8 + 2 * number] = 1, 1
        other[31] = 255  # left open
        read_blindly(folder, name, "Ada", one)
        if number == 3:
            continue  # nobody else has read it
        read_blindly(folder, name, "Grace", other, reading="second")
        truth = np.where(other == 255, np.uint8(255), one)
        sample = client.app.state.service.find(known[name]).sample  # type: ignore[attr-defined]
        scores.update(other % 255, truth, key=sample.key, group=sample.group)
    read_blindly(folder, plan["images"][0], "Emmy", np.ones((32, 32), np.uint8), adjudicated=True)
    readers, summary = client.get("/api/sample/estimate").json()["readers"], scores.summary(1000)
    assert (readers["images"], readers["adjudicated"]) == (3, 1)
    assert readers["iou"] == pytest.approx(summary["iou_lesion"])
    assert readers["interval"] == pytest.approx(summary["intervals"]["iou_lesion"])
