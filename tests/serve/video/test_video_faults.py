"""What goes wrong with a video is one sentence; a restarted server goes on; nothing of a request becomes a path."""

import sys
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from endotransfer.serve.app import create_app
from endotransfer.serve.video import video_catalogue
from tests.clips import disc_of, write_clip
from tests.serve.conftest import OWN, MakeClient
from tests.serve.video.conftest import correct, finished, frame_of, until, video_of, walked


def fault_of(client: TestClient, name: str) -> str:
    return str(next(row["fault"] for row in client.get("/api/videos").json()["videos"] if row["name"] == name))


def test_a_broken_video_is_named_and_the_others_work(make_client: MakeClient, runs: list[Path], clips: Path) -> None:
    (clips / "broken.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"x" * 300)
    (clips / "text.avi").write_text("no video at all")
    client = make_client(runs, clips)
    assert fault_of(client, "broken.mp4").startswith("broken.mp4 cannot be opened")
    assert "is not an MP4, MOV, AVI or WebM video" in fault_of(client, "text.avi")
    assert fault_of(client, "colon.mp4") == ""
    assert str(clips) not in client.get("/api/videos").text


def test_without_pyav_it_says_what_to_install(clip: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    assert fault_of(clip, "colon.mp4") == "PyAV, which reads video, is not installed; install endotransfer[video]."


def test_a_video_beyond_the_limit_is_refused(clip: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video_catalogue, "LONGEST", 2)
    assert "longer than" in fault_of(clip, "colon.mp4") and "review its parts" in fault_of(clip, "colon.mp4")


def test_too_many_frames_are_refused_before_any_is_read(clip: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from endotransfer.serve.video import video_desk

    monkeypatch.setattr(video_desk, "MOST", 10)
    told = clip.post(f"/api/videos/{video_of(clip)}/walk", json={"rate": 1000})
    assert (told.status_code, told.json()["code"]) == (422, "too-many")
    assert "36 frames, more than 10" in told.json()["message"]


def test_a_video_that_vanished_is_told_and_its_decisions_stay(clip: TestClient, clips: Path) -> None:
    video = video_of(clip)
    row = frame_of(clip, video, 3)
    correct(clip, video, 3, disc_of(3))
    content = (clips / "colon.mp4").read_bytes()
    (clips / "colon.mp4").unlink()
    for path in (f"/api/videos/{video}", f"/api/videos/{video}/frames/4", f"/api/images/{row['id']}"):
        told = clip.get(path)
        assert (told.status_code, told.json()["message"]) == (
            410,
            "colon.mp4 is no longer there; put it back where it was.",
        )
    (clips / "colon.mp4").write_bytes(content)
    assert clip.get(f"/api/videos/{video}").json()["decisions"]["3"]["revision"] == 1


def test_a_server_that_ended_in_the_middle_goes_on(
    make_client: MakeClient, runs: list[Path], clips: Path, own_cache: Path
) -> None:
    write_clip(clips / "colon.mp4", frames=80)
    with TestClient(
        create_app(runs, clips), base_url="http://127.0.0.1:8731", client=("127.0.0.1", 1), headers=OWN
    ) as one:
        video = video_of(one)
        one.post(f"/api/videos/{video}/walk", json={"rate": 1000})
        until(lambda: one.get(f"/api/videos/{video}/walk").json()["walk"]["done"], lambda done: done >= 5)
    before = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.safetensors")}
    assert 5 <= len(before) < 80
    two = make_client(runs, clips)
    assert video_of(two) == video
    told = finished(two, video)  # nobody asked for it again
    assert (told["walk"]["state"], told["known"]) == ("done", 80)
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())


def test_stopped_by_a_person_it_stays_stopped(make_client: MakeClient, runs: list[Path], clips: Path) -> None:
    write_clip(clips / "colon.mp4", frames=120)
    client = make_client(runs, clips)
    video = video_of(client)
    client.post(f"/api/videos/{video}/walk", json={"rate": 1000})
    assert client.delete(f"/api/videos/{video}/walk").json()["walk"]["state"] == "stopped"
    done = client.get(f"/api/videos/{video}/walk").json()["walk"]["done"]
    other = make_client(runs, clips)
    other.get("/api/videos")
    time.sleep(0.3)
    told = other.get(f"/api/videos/{video}/walk").json()["walk"]
    assert (told["state"], told["done"]) == ("stopped", done) and done < 120


def test_a_dropped_video_is_predicted_and_nothing_is_decided_about_it(clip: TestClient, clips: Path) -> None:
    content = (clips / "colon.mp4").read_bytes()
    told = clip.post("/api/videos", files={"video": content}, data={"name": "../../x.mp4"}).json()
    assert told["uploaded"] and told["frames"] == 36
    assert walked(clip, told["id"], 1)["walk"]["done"] == 3
    row = frame_of(clip, told["id"], 0)
    answer = clip.put(
        f"/api/images/{row['id']}/review", data={"review": "{}"}, files={"mask": b""}, headers={"If-Match": '"0"'}
    )
    assert answer.status_code == 404
    refused = clip.post(f"/api/videos/{told['id']}/frames/0/carry", json={"who": "A"}, headers={"If-Match": '"0"'})
    assert refused.status_code == 409
    assert clip.post("/api/videos", files={"video": b"no video"}, data={"name": "a"}).status_code == 400


@pytest.mark.parametrize("path", ["0123456789abcdef", "..%2f..%2fetc", "x" * 300])
def test_unknown_videos_are_no_paths(clip: TestClient, path: str) -> None:
    assert clip.get(f"/api/videos/{path}").status_code == 404
    assert clip.get(f"/api/images/{path}-000001").status_code == 404


def test_values_that_make_no_sense_are_refused(clip: TestClient) -> None:
    video = video_of(clip)
    assert clip.get(f"/api/videos/{video}/frames/36").status_code == 404
    assert clip.get(f"/api/videos/{video}/frames/-1").status_code == 404
    for rate in (0, -1, "nan", 1e9):
        assert clip.post(f"/api/videos/{video}/walk", json={"rate": rate}).status_code == 422
    known = {"If-Match": '"0"'}
    assert clip.post(f"/api/videos/{video}/frames/1/carry", json={"who": "A"}, headers=known).status_code == 409
    assert clip.post(f"/api/videos/{video}/frames/1/carry", json={"who": "A"}).status_code == 428
    asked = {"what": "accept", "who": "A", "frames": [{"frame": 1, "revision": 0}]}
    told = clip.post(f"/api/videos/{video}/carried", json=asked).json()
    assert "no carried mask waits" in told["refused"]["1"]
    del clip.headers["X-Endotransfer"]
    assert clip.post(f"/api/videos/{video}/walk", json={"rate": 1}).status_code == 403
