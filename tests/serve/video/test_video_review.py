"""A video through the service: predicted, reviewed frame by frame, a mask carried, a run of masks accepted."""

import csv
import io
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.reviewed import read_review, read_reviewed_mask
from endotransfer.data.read.frame_seeker import FrameSeeker
from tests.clips import disc_of
from tests.serve.conftest import pixels, png
from tests.serve.video.conftest import CUT, carried, correct, finished, frame_of, video_of, walked


def iou(one: np.ndarray, other: np.ndarray) -> float:
    return float((one & other).sum() / (one | other).sum())


def test_frames_are_predicted_at_a_rate_and_shown_as_images(clip: TestClient, clips: Path) -> None:
    video = video_of(clip)
    told = walked(clip, video, 4)
    assert (told["walk"]["state"], told["walk"]["done"], told["walk"]["total"]) == ("done", 12, 12)
    assert [number for number, _, _ in told["frames"]] == list(range(0, 36, 3))
    details = clip.get(f"/api/videos/{video}").json()
    assert details["curve"] == told["frames"] and details["frames"] == 36
    row = frame_of(clip, video, 6)
    look = clip.get(f"/api/images/{row['id']}").json()
    assert look["size"] == look["shown"] == [64, 64]
    assert look["area"] == row["area"] or round(look["area"], 6) == told["frames"][2][1]
    shown = pixels(clip.get(f"/api/images/{row['id']}/picture").content)
    with FrameSeeker(clips / "colon.mp4") as reader:
        assert np.abs(shown.astype(int) - reader.read(6)).mean() < 2
    assert pixels(clip.get(f"/api/images/{row['id']}/map/0").content).shape == (64, 64, 3)


def test_a_decision_on_a_frame_is_a_version_like_that_of_an_image(clip: TestClient, clips: Path) -> None:
    video = video_of(clip)
    told = correct(clip, video, 5, disc_of(5))
    assert (told["review"]["who"], told["revision"]) == ("Ada", 1)
    review, mask = read_review(clips, "colon.mp4@000005"), read_reviewed_mask(clips, "colon.mp4@000005", 2)
    assert review is not None and review.source and mask is not None
    assert np.array_equal(mask == 1, disc_of(5))
    row = frame_of(clip, video, 5)
    stale = clip.put(
        f"/api/images/{row['id']}/review", data={"review": '{"decision": "corrected", "who": "Bo"}'},
        files={"mask": png(disc_of(5))}, headers={"If-Match": '"0"'},
    )  # fmt: skip
    assert (stale.status_code, stale.json()["code"]) == (412, "changed")
    assert clip.get(f"/api/videos/{video}").json()["decisions"]["5"]["review"]["who"] == "Ada"


def test_a_mask_is_carried_until_the_cut_and_waits_for_a_person(clip: TestClient, clips: Path) -> None:
    video = video_of(clip)
    told = correct(clip, video, 10, disc_of(10))
    job = carried(clip, video, 10, told["revision"])
    assert (job["state"], job["before"], job["after"]) == ("done", "end", "cut"), job
    assert sorted(job["frames"]) == [*range(10), *range(11, CUT)]
    decisions = clip.get(f"/api/videos/{video}").json()["decisions"]
    waiting = decisions["20"]
    assert waiting["review"] is None and waiting["carried"] == {"who": "Ada", "number": 1, "from": 10}
    assert read_reviewed_mask(clips, "colon.mp4@000020", 2) is None  # nobody's word yet: training does not see it
    row = frame_of(clip, video, 20)
    mask = pixels(clip.get(f"/api/images/{row['id']}/reviewed?version=1").content)
    assert iou(mask == 1, disc_of(20)) > 0.8


def test_carried_masks_are_accepted_one_by_one_or_all_and_none_that_changed(clip: TestClient, clips: Path) -> None:
    video = video_of(clip)
    job = carried(clip, video, 10, correct(clip, video, 10, disc_of(10))["revision"])
    correct(clip, video, 12, disc_of(12), "Bo")  # meanwhile
    frames = [{"frame": number, "revision": 1} for number in job["frames"] if number != 0]
    asked = {"what": "accept", "who": "Cy", "frames": frames}
    told = clip.post(f"/api/videos/{video}/carried", json=asked).json()
    assert list(told["refused"]) == ["12"] and "somebody else" in told["refused"]["12"]
    review = read_review(clips, "colon.mp4@000020")
    assert review is not None and (review.decision, review.who, review.carried_from) == ("accepted", "Cy", 10)
    assert read_review(clips, "colon.mp4@000012").who == "Bo"  # type: ignore[union-attr]
    asked = {"what": "dismiss", "who": "Cy", "frames": [{"frame": 0, "revision": 1}]}
    told = clip.post(f"/api/videos/{video}/carried", json=asked).json()
    assert told["decisions"]["0"]["carried"] is None and told["decisions"]["0"]["review"] is None
    assert [one.decision for one in read_record(clips, "colon.mp4@000000").versions] == ["carried", "taken back"]


def test_a_person_who_decided_ends_the_way_of_a_mask(clip: TestClient) -> None:
    video = video_of(clip)
    correct(clip, video, 14, disc_of(14), "Bo")
    job = carried(clip, video, 10, correct(clip, video, 10, disc_of(10))["revision"])
    assert job["after"] == "decided" and max(job["frames"]) == 13


def test_the_curve_is_a_table_with_every_decision(clip: TestClient) -> None:
    video = video_of(clip)
    walked(clip, video, 4)
    correct(clip, video, 5, disc_of(5), "=Ada")
    rows = list(csv.DictReader(io.StringIO(clip.get(f"/api/videos/{video}/curve").text)))
    assert [row["frame"] for row in rows][:4] == ["0", "3", "5", "6"]
    assert float(rows[1]["seconds"]) == 0.25 and 0 <= float(rows[1]["area"]) <= 1
    assert (rows[2]["decision"], rows[2]["area"]) == ("corrected", "") and not rows[2]["who"].startswith("=")


def test_a_stopped_walk_goes_on_where_it_was(clip: TestClient, own_cache: Path) -> None:
    video = video_of(clip)
    walked(clip, video, 1)
    first = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*.safetensors")}
    assert len(first) == 3
    assert finished(clip, video)["walk"]["done"] == 3
    walked(clip, video, 4)
    assert all(path.stat().st_mtime_ns == when for path, when in first.items())
