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


def send(client: TestClient, image: str, mask: bytes, *, known: int | None = 0, **asked: Any) -> Any:
    """A decision by somebody who knows of `known` entries."""
    review = {"decision": "corrected", "who": "Ada", "model": 0} | asked
    headers = {} if known is None else {"If-Match": f'"{known}"'}
    path, fields = f"/api/images/{image}/review", {"review": json.dumps(review)}
    return client.put(path, data=fields, files={"mask": mask}, headers=headers)


def accept(client: TestClient, image: str, **more: Any) -> Any:
    asked: dict[str, Any] = {"decision": "accepted", "threshold": 0.5} | more
    return send(client, image, png(own_mask(client, image)), **asked)


def take_back(client: TestClient, image: str, known: int, who: str = "Ada") -> Any:
    headers = {"If-Match": f'"{known}"'}
    return client.delete(f"/api/images/{image}/review", params={"who": who}, headers=headers)


def digest(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def own_mask(client: TestClient, image: str) -> np.ndarray:
    return labels_of(pixels(client.get(f"/api/images/{image}/map/0").content))


def test_an_accepted_mask_is_on_disk_at_once_and_nothing_else_changed(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    before, mask = digest(folder), own_mask(client, image)
    said = accept(client, image)
    assert said.status_code == 200
    new = {Path(path).relative_to(folder / "reviewed") for path in digest(folder) if path not in before}
    assert {str(path) for path in new if path.parent == Path()} == {f"{name}.json", ".lock"}
    assert len(new) == 3  # the third is the mask
    assert {path: after for path, after in digest(folder).items() if path in before} == before
    (note,) = json.loads((folder / "reviewed" / f"{name}.json").read_text())["versions"]
    assert (note["decision"], note["who"], note["model"], note["threshold"]) == ("accepted", "Ada", "robust", 0.5)
    assert note["when"].endswith("+00:00")
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert (stored == mask).all()
    assert (pixels(client.get(f"/api/images/{image}/reviewed").content) == mask).all()
    row = next(row for row in client.get("/api/images").json()["images"] if row["id"] == image)
    assert {key: row[key] for key in said.json()} == said.json()
    assert row["revision"] == row["review"]["number"] == 1


@pytest.mark.parametrize("threshold", [0.02, 0.5, 0.77])
def test_what_is_accepted_is_the_models_mask_as_shown(client: TestClient, folder: Path, threshold: float) -> None:
    image = next(iter(ids(client).values()))
    shown = labels_of(pixels(client.get(f"/api/images/{image}/map/0").content), round(threshold * 256))
    other = shown.copy()
    other[0, 0] = 1 - other[0, 0]
    for wrong in ({"threshold": None}, {"model": None}, {"threshold": 1.5}):
        assert accept(client, image, **wrong).status_code == 422
    said = send(client, image, png(other), decision="accepted", threshold=threshold)
    assert (said.status_code, said.json()["code"]) == (422, "not-the-models")
    assert not (folder / "reviewed").exists()
    assert send(client, image, png(shown), decision="accepted", threshold=threshold).status_code == 200


def test_a_correction_may_leave_pixels_open_and_need_no_model(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    mask = np.zeros((32, 32), np.uint8)
    mask[4:9, 4:9], mask[20:] = 1, IGNORE
    rgba = np.stack([mask, mask, mask, np.full_like(mask, 255)], axis=-1)  # as a canvas writes it
    assert send(client, image, png(rgba), model=None).json()["review"]["model"] is None
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert (stored == mask).all()


def test_a_rejected_mask_labels_nothing(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    accept(client, image, decision="rejected")
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert (stored == IGNORE).all()


def test_a_decision_needs_to_know_of_the_one_before(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    assert accept(client, image, known=None).json()["code"] == "no-version"
    assert accept(client, image).status_code == 200
    refused = accept(client, image, who="Grace")
    assert (refused.status_code, refused.json()["code"]) == (412, "changed")
    assert refused.json()["review"]["who"] == "Ada"  # the newer decision comes with the refusal
    assert read_review(folder, name).who == "Ada"  # type: ignore[union-attr]
    assert accept(client, image, who="Grace", known=refused.json()["revision"]).status_code == 200
    assert read_review(folder, name).who == "Grace"  # type: ignore[union-attr]


@pytest.mark.parametrize("header", [None, "*", "1", '"x"', 'W/"1"', '"1", "2"'])
def test_nothing_is_removed_by_somebody_who_has_not_seen_it(
    client: TestClient, folder: Path, header: str | None
) -> None:
    name, image = next(iter(ids(client).items()))
    accept(client, image)
    headers = {} if header is None else {"If-Match": header}
    said = client.delete(f"/api/images/{image}/review", params={"who": "Eve"}, headers=headers)
    assert said.status_code == 428
    assert take_back(client, image, known=0).status_code == 412
    assert read_review(folder, name) is not None


def test_of_two_decisions_at_the_same_moment_one_is_told(client: TestClient, folder: Path) -> None:
    image = next(iter(ids(client).values()))
    mask = png(own_mask(client, image))
    with ThreadPoolExecutor(6) as people:
        answers = list(people.map(lambda who: send(client, image, mask, who=who).status_code, "abcdef"))
    assert sorted(answers) == [200, 412, 412, 412, 412, 412]


def test_a_drawing_is_not_replaced_by_an_accept_unasked(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    drawn = np.eye(32, dtype=np.uint8)
    send(client, image, png(drawn))
    for decision in ("accepted", "rejected"):
        said = accept(client, image, known=1, decision=decision)
        assert (said.status_code, said.json()["code"]) == (409, "over-correction")
        assert "Ada" in said.json()["message"]
    assert np.array_equal(read_reviewed_mask(folder, name, 2), drawn)  # type: ignore[arg-type]
    assert accept(client, image, known=1, over_correction=True).status_code == 200
    back = take_back(client, image, known=2).json()
    assert (back["revision"], back["review"]["decision"]) == (3, "corrected")
    assert np.array_equal(read_reviewed_mask(folder, name, 2), drawn)  # type: ignore[arg-type]


def test_a_decision_can_be_taken_back_and_made_again(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    accept(client, image)
    said = take_back(client, image, known=1)
    assert (said.status_code, said.json()) == (200, {"revision": 2, "review": None, "second": [], "carried": None})
    assert read_review(folder, name) is None
    assert client.get(f"/api/images/{image}/reviewed").json()["code"] == "no-review"
    assert take_back(client, image, known=2).json()["code"] == "no-review"
    path, asked = f"/api/images/{image}/review/version", {"to": 1, "who": "Grace"}
    assert client.put(path, json=asked).status_code == 428
    assert client.put(path, json=asked, headers={"If-Match": '"1"'}).status_code == 412
    assert client.put(path, json=asked | {"to": 9}, headers={"If-Match": '"2"'}).status_code == 422
    again = client.put(path, json=asked, headers={"If-Match": '"2"'}).json()
    assert (again["revision"], again["review"]["number"]) == (3, 1)
    history = client.get(f"/api/images/{image}/history").json()
    entries = [(one["decision"], one["who"], one["restores"]) for one in history["versions"]]
    assert entries == [("accepted", "Ada", None), ("taken back", "Ada", None), ("taken back", "Grace", 1)]
    assert client.get(f"/api/images/{image}/reviewed", params={"version": 1}).status_code == 200
    assert client.get(f"/api/images/{image}/reviewed", params={"version": 2}).status_code == 404


def test_a_second_reading_is_another_persons_and_stands_beside_the_first(client: TestClient, folder: Path) -> None:
    name, image = next(iter(ids(client).items()))
    one, two = np.eye(32, dtype=np.uint8), 1 - np.eye(32, dtype=np.uint8)
    second: dict[str, Any] = {"reading": "second", "blind": True, "model": None}
    assert send(client, image, png(two), who="Grace", **second).json()["code"] == "no-first"
    assert send(client, image, png(one), adjudicated=True).json()["code"] == "one-reading"
    send(client, image, png(one), blind=True, model=None)
    assert send(client, image, png(two), known=1, **second).json()["code"] == "same-reader"
    said = send(client, image, png(two), who="Grace", known=1, **second).json()
    assert (said["review"]["who"], [reader["who"] for reader in said["second"]]) == ("Ada", ["Grace"])
    assert np.array_equal(read_reviewed_mask(folder, name, 2), one)  # type: ignore[arg-type]
    theirs = client.get(f"/api/images/{image}/reviewed", params={"version": said["second"][0]["number"]})
    assert (pixels(theirs.content) == two).all()
    settled = send(client, image, png(two), who="Emmy", known=2, adjudicated=True, blind=True, model=None).json()
    assert settled["review"]["adjudicated"]
    assert np.array_equal(read_reviewed_mask(folder, name, 2), two)  # type: ignore[arg-type]


def test_who_accepts_has_not_read_blindly(client: TestClient) -> None:
    assert accept(client, next(iter(ids(client).values())), blind=True).status_code == 422


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
    sent: dict[str, Any] = {"data": {"review": text}, "files": {"mask": png(np.zeros((32, 32)))}}
    answer = client.put(f"/api/images/{image}/review", **sent, headers={"If-Match": '"0"'})
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
    assert send(client, image, png(mask), model=0).status_code == 200
    stored = read_reviewed_mask(folder, name, 2)
    assert stored is not None
    assert stored.shape == (32, 32)
    assert (stored[:16] == 1).all()
    assert (stored[16:] == 0).all()
