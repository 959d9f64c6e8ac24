"""Videos in the viewer: how soon a frame is shown, how long a mask takes from frame to frame.

Run from the root of the repository: `python -m perf.bench_video RUN --width 1280 --height 720` (some minutes on a CPU).
Not part of `make bench`: these are times of one machine, not ratios.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image
from starlette.testclient import TestClient

from endotransfer.data.read.frame_seeker import FrameSeeker
from endotransfer.data.read.video_reader import import_av
from endotransfer.predict.carry.carry_mask import carry_mask


def write_video(path: Path, frames: int, width: int, height: int) -> None:
    """A textured wall that glides by, with a pale disc on it."""
    av = import_av()
    draw = np.random.default_rng(0)
    coarse = draw.integers(60, 200, (height // 8, (width + 4 * frames) // 8, 3), dtype=np.uint8)
    wall = np.asarray(Image.fromarray(coarse).resize((width + 4 * frames, height), Image.Resampling.BICUBIC)).copy()
    y, x = np.mgrid[:height, : wall.shape[1]]
    inside = disc(height, width, y, x)
    wall[inside] = (wall[inside] * 0.4 + np.array([140, 130, 100])).astype(np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(25), options={"preset": "superfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for index in range(frames):
            picture = np.ascontiguousarray(wall[:, 3 * index : 3 * index + width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def disc(height: int, width: int, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.hypot(y - height / 2, x - width / 2) < height / 6
    return found


def milliseconds(works: list[Callable[[], object]]) -> list[float]:
    found = []
    for work in works:
        began = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - began))
    return found


def shown(client: TestClient, video: str, number: int) -> None:
    """What the page asks for when a frame is to be shown."""
    image = client.get(f"/api/videos/{video}/frames/{number}").json()["id"]
    for path in ("", "/picture", "/map/0"):
        assert client.get(f"/api/images/{image}{path}").status_code == 200


def main(run: Path, width: int, height: int, frames: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        os.environ["ENDOTRANSFER_CACHE"] = f"{place}/cache"
        folder = Path(place) / "ward"
        folder.mkdir()
        write_video(folder / "v.mp4", frames, width, height)
        measure_showing(run, folder, frames)
        measure_carrying(folder / "v.mp4", width, height, min(40, frames))


def measure_showing(run: Path, folder: Path, frames: int) -> None:
    from endotransfer.serve.app import create_app

    with TestClient(
        create_app([run], folder), base_url="http://127.0.0.1", client=("127.0.0.1", 1), headers={"X-Endotransfer": "p"}
    ) as client:
        video = client.get("/api/videos").json()["videos"][0]["id"]
        client.post(f"/api/videos/{video}/walk", json={"rate": 5})
        while (walk := client.get(f"/api/videos/{video}/walk").json())["walk"]["state"] == "running":
            time.sleep(0.5)
        known = [frame for frame, _, _ in walk["frames"]]
        order = np.random.default_rng(0).permutation(known)[:40]
        times = milliseconds([lambda n=int(n): shown(client, video, n) for n in order])  # type: ignore[misc]
        far = [number for number in range(frames) if number not in known][:: max(1, frames // 12)]
        seeks = milliseconds([lambda n=n: client.get(f"/api/videos/{video}/frames/{n}") for n in far])  # type: ignore[misc]
    report("a predicted frame, picture and map, at random", times)
    report("any other frame, found and decoded", seeks)


def measure_carrying(video: Path, width: int, height: int, count: int) -> None:
    with FrameSeeker(video) as reader:
        pictures = [reader.read(number) for number in range(count)]
    mask = disc(height, width, *np.mgrid[:height, :width]).astype(np.uint8)
    masks = carry_mask(pictures[0], mask, pictures[1:])
    times = milliseconds([lambda: next(masks) for _ in range(count - 1)])
    report("a mask carried by one frame", times)


def report(what: str, times: list[float]) -> None:
    figures = {"median_ms": statistics.median(times), "largest_ms": max(times), "count": len(times)}
    print(json.dumps({"what": what, **{key: round(value, 1) for key, value in figures.items()}}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("width", 1280), ("height", 720), ("frames", 250)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("run", type=Path, help="a trained run")
    asked = parser.parse_args()
    main(asked.run, asked.width, asked.height, asked.frames)
