"""A folder with a small video, and a page's view of it."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.clips import write_clip
from tests.serve.conftest import MakeClient, folder, make_client, png, runs  # noqa: F401  (fixtures)

CUT = 30


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "videos"


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    place = tmp_path / "clips"
    place.mkdir()
    write_clip(place / "colon.mp4", cut=CUT)
    return place


@pytest.fixture
def clip(make_client: MakeClient, runs: list[Path], clips: Path) -> TestClient:  # noqa: F811
    return make_client(runs, clips)


def video_of(client: TestClient) -> str:
    return str(client.get("/api/videos").json()["videos"][0]["id"])


def frame_of(client: TestClient, video: str, number: int) -> dict[str, Any]:
    row = client.get(f"/api/videos/{video}/frames/{number}")
    assert row.status_code == 200, row.text
    return dict(row.json())


def until(look: Any, done: Any, seconds: float = 60) -> Any:
    """What `look` finds as soon as it is `done`."""
    for _ in range(int(seconds / 0.05)):
        if done(found := look()):
            return found
        time.sleep(0.05)
    raise AssertionError(f"never done: {found}")


def walked(client: TestClient, video: str, rate: float) -> dict[str, Any]:
    assert client.post(f"/api/videos/{video}/walk", json={"rate": rate}).status_code == 201
    return finished(client, video)


def finished(client: TestClient, video: str) -> dict[str, Any]:
    found = until(
        lambda: client.get(f"/api/videos/{video}/walk").json(), lambda told: told["walk"]["state"] != "running"
    )
    return dict(found)


def correct(client: TestClient, video: str, number: int, mask: np.ndarray, who: str = "Ada") -> dict[str, Any]:
    row = frame_of(client, video, number)
    asked = {"decision": "corrected", "who": who}
    answer = client.put(
        f"/api/images/{row['id']}/review", data={"review": json.dumps(asked)}, files={"mask": png(mask)},
        headers={"If-Match": f'"{row["revision"]}"'},
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def carried(client: TestClient, video: str, number: int, revision: int, who: str = "Ada") -> dict[str, Any]:
    answer = client.post(
        f"/api/videos/{video}/frames/{number}/carry", json={"who": who}, headers={"If-Match": f'"{revision}"'}
    )
    assert answer.status_code == 201, answer.text
    found = until(
        lambda: client.get(f"/api/videos/{video}/carry").json()["carrying"], lambda job: job["state"] != "running"
    )
    return dict(found)
