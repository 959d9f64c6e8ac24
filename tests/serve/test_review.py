"""A decision reaches the disk, with who and when, beside the masks and never over them."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from endotransfer.batch import IGNORE
from endotransfer.data.folders.reviewed import read_review, read_reviewed_mask
from endotransfer.serve import pictures
from endotransfer.serve.predictions import labels_of
from tests.serve.conftest import MakeClient, ids, pixels, png, saved


def send(client: TestClient, image: str, mask: bytes, **asked: Any) -> Any:
    review = {"decision": "accepted", "who": "Ada", "model": 0, "replaces": None} | asked
    return client.put(f"/api/images/{image}/review", data={"review": json.dumps(review)}, files={"mask": mask})


def digest(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def own_mask(client: TestClient, image: str) -> np.ndarray:
    return labels_of(pixels(client.get(f"/api/images/{image}/map/0").content))


def test_an_accepted_mask_is_on_disk_at_once_and_nothing_else_changed(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    before, mask = digest(folder), own_mask(client, image)
    assert send(client, image, png(mask)).status_code == 200
    assert {path for path in digest(folder) if path not in before} == {
        str(folder / "reviewed" / f"{name}.{ending}") for ending in ("png", "json")
    }
    assert {path: after for path, after in digest(folder).items() if path in before} == before
    note = json.loads((folder / "reviewed" / f"{name}.json").read_text())
    assert set(note) == {"decision", "who", "when", "model", "version"}
    assert (note["decision"], note["who"], note["model"]) == ("accepted", "Ada", "robust")
    assert note["when"].endswith("+00:00")
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert (stored == mask).all()
    assert (pixels(client.get(f"/api/images/{image}/reviewed").content) == mask).all()
    row = next(row for row in client.get("/api/images").json()["images"] if row["id"] == image)
    assert row["review"] == note


def test_a_correction_may_leave_pixels_open_and_need_no_model(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    mask = np.zeros((32, 32), np.uint8)
    mask[4:9, 4:9], mask[20:] = 1, IGNORE
    rgba = np.stack([mask, mask, mask, np.full_like(mask, 255)], axis=-1)  # as a canvas writes it
    assert send(client, image, png(rgba), decision="corrected", model=None).json()["model"] is None
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert (stored == mask).all()


def test_a_rejected_mask_labels_nothing(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    send(client, image, png(own_mask(client, image)), decision="rejected")
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert (stored == IGNORE).all()


def test_a_second_decision_needs_to_know_of_the_first(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    mask = png(own_mask(client, image))
    first = send(client, image, mask).json()
    assert send(client, image, mask, who="Grace").json()["code"] == "changed"
    assert read_review(folder, name).who == "Ada"  # type: ignore[union-attr]
    assert send(client, image, mask, who="Grace", replaces=first["when"]).status_code == 200
    assert read_review(folder, name).who == "Grace"  # type: ignore[union-attr]


def test_of_two_decisions_at_the_same_moment_one_is_told(client: TestClient, folder: Path) -> None:
    image = next(iter(ids(client).values()))
    mask = png(own_mask(client, image))
    with ThreadPoolExecutor(6) as people:
        answers = list(people.map(lambda who: send(client, image, mask, who=who).status_code, "abcdef"))
    assert sorted(answers) == [200, 409, 409, 409, 409, 409]


def test_a_decision_can_be_taken_back(client: TestClient, folder: Path) -> None:
    image = next(iter(ids(client).values()))
    send(client, image, png(own_mask(client, image)))
    assert client.delete(f"/api/images/{image}/review").status_code == 204
    assert [*(folder / "reviewed").iterdir()] == []
    assert client.get(f"/api/images/{image}/reviewed").json()["code"] == "no-review"
    assert client.delete(f"/api/images/{image}/review").status_code == 204


@pytest.mark.parametrize(
    ("mask", "code"),
    [
        (png(np.zeros((31, 32))), "other-size"),
        (png(np.zeros((4000, 4000))), "other-size"),
        (png(np.full((32, 32), 2)), "unknown-value"),
        (png(np.zeros((32, 32)))[:45], "damaged"),
        (b"", "damaged"),
        (saved(Image.new("L", (32, 32)), "BMP"), "damaged"),
        (saved(Image.new("I;16", (32, 32))), "other-size"),
    ],
)
def test_a_mask_that_is_none_is_refused(client: TestClient, folder: Path, mask: bytes, code: str) -> None:
    image = next(iter(ids(client).values()))
    answer = send(client, image, mask)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not (folder / "reviewed").exists()


@pytest.mark.parametrize(
    "asked",
    [{"who": ""}, {"who": "x" * 81}, {"who": "a\nb"}, {"decision": "maybe"}, {"model": 7}, {"extra": 1}, {"who": None}],
)
def test_a_decision_that_is_none_is_refused(client: TestClient, folder: Path, asked: dict[str, Any]) -> None:
    image = next(iter(ids(client).values()))
    assert send(client, image, png(np.zeros((32, 32))), **asked).status_code == 422
    assert not (folder / "reviewed").exists()


def test_a_model_that_is_not_shown_cannot_have_drawn_it(
    make_client: MakeClient, runs: list[Path], folder: Path
) -> None:
    client = make_client(runs[:1], folder)
    image = next(iter(ids(client).values()))
    assert send(client, image, png(np.zeros((32, 32))), model=1).status_code == 422


@pytest.mark.parametrize("text", ["", "[" * 100_000, "{", "null"])
def test_a_decision_must_be_json(client: TestClient, text: str) -> None:
    image = next(iter(ids(client).values()))
    answer = client.put(f"/api/images/{image}/review", data={"review": text}, files={"mask": png(np.zeros((32, 32)))})
    assert answer.status_code in (400, 422)


def test_without_a_folder_nothing_can_be_saved(make_client: MakeClient, runs: list[Path]) -> None:
    client = make_client(runs[:1])
    assert send(client, "abc", b"").json()["code"] == "no-folder"
    assert client.get("/api/sample").json()["code"] == "no-folder"


def test_reviews_never_leave_the_folder_through_a_link(client: TestClient, folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "reviewed").symlink_to(elsewhere)
    image = next(iter(ids(client).values()))
    assert send(client, image, png(np.zeros((32, 32)))).json()["code"] == "not-saved"
    assert client.post("/api/sample", json={"count": 3}).json()["code"] == "not-saved"
    assert [*elsewhere.iterdir()] == []


def test_a_folder_that_cannot_be_written_is_told_without_its_path(client: TestClient, folder: Path) -> None:
    (folder / "reviewed").write_text("in the way")
    image = next(iter(ids(client).values()))
    answer = send(client, image, png(np.zeros((32, 32))))
    assert (answer.status_code, answer.json()["code"]) == (409, "not-saved")
    assert str(folder) not in answer.text
    assert client.post("/api/sample", json={"count": 3}).status_code == 409


def test_a_damaged_review_counts_as_none_and_can_be_replaced(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    (folder / "reviewed").mkdir()
    (folder / "reviewed" / f"{name}.json").write_text("{")
    (folder / "reviewed" / f"{name}.png").write_bytes(b"")
    assert client.get(f"/api/images/{image}/reviewed").status_code == 404
    assert send(client, image, png(np.zeros((32, 32)))).status_code == 200


def test_the_mask_of_a_large_image_is_brought_to_its_own_size(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "SHOWN_SIDE", 16)
    name, image = next(iter(ids(client).items()))
    mask = np.zeros((16, 16), np.uint8)
    mask[:8] = 1
    assert send(client, image, png(mask), decision="corrected").status_code == 200
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert stored.shape == (32, 32)
    assert (stored[:16] == 1).all()
    assert (stored[16:] == 0).all()
