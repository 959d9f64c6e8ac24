"""Files from outside: told by content, refused before they can do harm, kept under names of ours."""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from endotransfer.data.read.image_limits import MAX_UPLOAD_BYTES
from endotransfer.serve.answers import Refusal
from endotransfer.serve.uploads import Uploads
from tests.serve.conftest import pixels, saved

IMAGE = Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 56, 3), np.uint8))


def huge_png(width: int, height: int) -> bytes:
    """A PNG whose header is whole and whose pixels are a few bytes that unpack to as many as it says."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 9000)) + chunk(b"IEND", b"")
    )


def send(client: TestClient, content: bytes, name: str = "a.png") -> tuple[int, dict[str, str]]:
    answer = client.post("/api/uploads", files={"image": (name, content)})
    return answer.status_code, answer.json()


@pytest.fixture(scope="module")
def viewer(runs: list[Path]) -> Iterator[TestClient]:
    from endotransfer.serve.app import create_app

    with TestClient(
        create_app(runs, None), base_url="http://127.0.0.1", client=("127.0.0.1", 1), headers={"X-Endotransfer": "1"}
    ) as client:
        yield client


@pytest.mark.parametrize("format", ["PNG", "JPEG", "BMP", "TIFF", "WEBP"])
@pytest.mark.parametrize("name", ["../../etc/passwd", "a.exe", "a\0b.png", "…" * 300])
def test_an_image_is_told_by_its_content_and_its_name_is_nothing_to_us(
    viewer: TestClient, format: str, name: str
) -> None:
    status, said = send(viewer, saved(IMAGE, format), name)
    assert status == 201
    details = viewer.get(f"/api/images/{said['id']}").json()
    assert details["size"] == [40, 56]
    assert details["name"] == said["id"]
    shown = pixels(viewer.get(f"/api/images/{said['id']}/picture").content)
    assert shown.shape == (40, 56, 3)
    assert len(details["models"]) == 2


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty-file"),
        (b"<svg onload=alert(1)>", "not-an-image"),
        (saved(IMAGE, "GIF"), "not-an-image"),
        (saved(IMAGE)[:700], "damaged"),
        (huge_png(20_000, 100), "too-large"),
        (huge_png(9_000, 9_000), "too-large"),
        (huge_png(65_535, 65_535), "too-large"),
        (saved(IMAGE, save_all=True, append_images=[IMAGE.rotate(90)]), "several-frames"),
        (saved(IMAGE.convert("F"), "TIFF"), "float-image"),
    ],
    ids=["empty", "svg", "gif", "cut", "wide", "bomb", "large-bomb", "animation", "float"],
)
def test_what_is_no_good_image_is_refused_by_name(viewer: TestClient, content: bytes, code: str) -> None:
    status, said = send(viewer, content)
    assert (status, said["code"]) == (400, code)
    assert "/" not in said["message"].replace("0 / 255", "")


def test_a_file_over_the_limit_is_refused(viewer: TestClient) -> None:
    status, said = send(viewer, saved(IMAGE) + b"\0" * MAX_UPLOAD_BYTES)
    assert (status, said["code"]) == (413, "too-large")


@pytest.mark.parametrize("parts", [5, 2000])
def test_a_form_of_many_parts_is_refused(viewer: TestClient, parts: int) -> None:
    fields = {f"f{number}": "x" for number in range(parts)}
    assert viewer.post("/api/uploads", data=fields, files={"image": saved(IMAGE)}).status_code == 400
    files = [("image", saved(IMAGE))] * 2
    assert viewer.post("/api/uploads", files=files).status_code == 400


@pytest.mark.parametrize(
    ("kind", "content"),
    [("application/json", b"{}"), ("multipart/form-data", b"x"), ("multipart/form-data; boundary=b", b"--c\r\n"),
     ("application/x-www-form-urlencoded", b"image=1"), ("multipart/form-data; boundary=b", b"--b\r\n\r\nx")],
)  # fmt: skip
def test_something_else_than_a_form_is_refused(viewer: TestClient, kind: str, content: bytes) -> None:
    assert viewer.post("/api/uploads", content=content, headers={"Content-Type": kind}).status_code == 400


def test_uploads_are_no_part_of_the_folder_and_cannot_be_reviewed(client: TestClient, folder: Path) -> None:
    _, said = send(client, saved(IMAGE))
    assert said["id"] not in [row["id"] for row in client.get("/api/images").json()["images"]]
    assert client.put(f"/api/images/{said['id']}/review", files={"mask": b""}).status_code == 404
    assert not (folder / "reviewed").exists()


def test_the_oldest_upload_is_forgotten_and_nothing_stays_behind() -> None:
    gone: list[str] = []
    uploads = Uploads(lambda entry: gone.append(entry.id), most=2, room=10_000_000)
    entries = [uploads.add(saved(IMAGE)) for _ in range(3)]
    assert gone == [entries[0].id]
    assert uploads.find(entries[0].id) is None
    assert not entries[0].sample.image.exists()
    kept = uploads.find(entries[2].id)
    assert kept is not None
    assert kept.sample.image.name == entries[2].id
    with pytest.raises(Refusal):
        uploads.add(b"no image")
    assert len([*entries[2].sample.image.parent.iterdir()]) == 2
    uploads.close()
    assert not entries[2].sample.image.parent.exists()


def test_uploads_have_a_room_in_bytes_as_well() -> None:
    content = saved(IMAGE)
    uploads = Uploads(lambda entry: None, most=99, room=2 * len(content))
    entries = [uploads.add(content) for _ in range(3)]
    assert [uploads.find(entry.id) is not None for entry in entries] == [False, True, True]
    uploads.close()


def test_a_file_that_vanished_is_told(viewer: TestClient) -> None:
    _, said = send(viewer, saved(IMAGE))
    entry = viewer.app.state.service.uploads.find(said["id"])  # type: ignore[attr-defined]
    entry.sample.image.unlink()
    answer = viewer.get(f"/api/images/{said['id']}/picture")
    assert answer.status_code == 400
    assert str(entry.sample.image.parent) not in answer.text


def test_the_figures_of_a_forgotten_upload_are_forgotten(viewer: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    service = viewer.app.state.service  # type: ignore[attr-defined]
    _, said = send(viewer, saved(IMAGE))
    viewer.get(f"/api/images/{said['id']}")
    assert said["id"] in service.predictions.figures
    monkeypatch.setattr(service.uploads, "_most", 1)
    send(viewer, saved(IMAGE))
    assert said["id"] not in service.predictions.figures
    assert viewer.get(f"/api/images/{said['id']}").status_code == 404
