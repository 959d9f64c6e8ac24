"""The viewer on a large folder: waits of a person, frames of the scrolled list, memory of the server.

`python -m perf.bench_viewer [--images 2000] [--views 2000] [--model RUN] [--side 512]`, from the repository's root,
on a quiet machine with Chromium; a few minutes.  Without `--model` a tiny network predicts: these are figures of the
viewer.  One JSON line a figure, with its bound.
"""

import argparse
import http.client
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter

from endotransfer.engine.run import train
from endotransfer.testing.tiny_tasks import tiny_experiment, write_backbone, write_tasks
from perf.timing import emit
from tests.browser.chromium import launch
from tests.served import Server, serving

LOOK = 0.7  # seconds that a person looks at an image before the next
FIRST = """new MutationObserver(() => {
  if (document.documentElement.dataset.ready) window.readyAt ??= performance.now();
}).observe(document, { attributes: true, subtree: true, attributeFilter: ["data-ready"] });"""
WATCH_STEPS = """async () => {
  const { on, state } = await import("/page/state.js");
  window.steps = [];
  let pressed = null;
  addEventListener("keydown", ({ key }) => {
    if (key === "ArrowRight") pressed = { at: performance.now(), image: state.image };
  }, true);
  on("drawn", () => {
    if (!pressed || state.image === pressed.image) return;
    window.steps.push((performance.now() - pressed.at) / 1000);
    pressed = null;
  });
}"""
SCROLL = """async (frames) => {
  const strip = document.getElementById("strip");
  strip.scrollTop = 0;
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let k = 0; k < frames; k += 1) {
    strip.scrollTop += 60;
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last);
    last = now;
  }
  return gaps;
}"""


def write_images(folder: Path, count: int, side: int) -> None:
    """Smooth coloured noise with a spot, each image another crop and shade of it."""
    random = np.random.default_rng(0)
    noise = [gaussian_filter(random.normal(size=(2 * side, 2 * side)), 12) for _ in range(3)]
    field = np.stack([128 + 900 * one for one in noise], axis=-1).clip(0, 255).astype(np.uint8)
    folder.mkdir()
    for index in range(count):
        y, x = random.integers(0, side, 2)
        pixels = field[y : y + side, x : x + side].copy()
        pixels[side // 3 : side // 2, side // 4 : side // 2, index % 3] //= 2
        Image.fromarray(pixels).save(folder / f"{index:05d}.jpg", quality=90)


def tiny_run(folder: Path) -> Path:
    tasks = write_tasks(folder / "tasks")
    train(tiny_experiment("tagged", tasks["tagged"], write_backbone(folder / "weights"), "source_only"), folder / "run")
    return folder / "run"


def first_image(browser: Any, address: str) -> float:
    """Seconds from the address to the first image, in a browser that knows nothing yet."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(FIRST)
    page.goto(address)
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    seconds = page.evaluate("window.readyAt") / 1000
    page.context.close()
    return float(seconds)


def own_time(browser: Any, server: Server) -> None:
    """Processor time of page and server for the first image: what the wait would be with nobody else on the machine."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    watch, before = page.context.new_cdp_session(page), server.processor_time()
    watch.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(server.address)
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    told = {one["name"]: one["value"] for one in watch.send("Performance.getMetrics")["metrics"]}
    served = server.processor_time() - before
    emit("viewer: first image, processor time, s", told["ThreadTime"] + served, page=told["ThreadTime"], server=served)
    page.context.close()


def steps_and_frames(browser: Any, address: str, steps: int) -> None:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    page.evaluate(WATCH_STEPS)
    for _ in range(steps):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(1000 * LOOK)
    seconds = page.evaluate("window.steps")
    assert len(seconds) == steps, "some image did not come"
    emit("viewer: next image, s", statistics.median(seconds), at_most=0.1, p95=float(np.quantile(seconds, 0.95)))
    for name, how, least in (("list", "", 59.0), ("grid", "document.getElementById('grid').click()", None)):
        page.evaluate(how)
        page.wait_for_timeout(500)
        gaps = page.evaluate(SCROLL, 300)
        rate, late = 1000 / statistics.mean(gaps), sum(gap > 25 for gap in gaps) / len(gaps)
        emit(f"viewer: frames a second while the {name} scrolls", rate, at_least=least, late=late, longest_ms=max(gaps))
    page.context.close()


def wait_for_survey(server: Server) -> None:
    server.get("/api/images", timeout=120)
    while (told := json.loads(server.get("/api/survey")[1]))["done"] < told["total"]:
        time.sleep(1)


def memory(server: Server, views: int) -> None:
    """Everything that the page asks for when an image is opened, for one image after the other; a click on some."""
    rows = json.loads(server.get("/api/images", timeout=120)[1])["images"]

    def view(index: int) -> None:
        path = f"/api/images/{rows[index % len(rows)]['id']}"
        for part in ("", "/picture", "/map/0", "/thumbnail", "/mask-thumbnail"):
            assert server.get(path + part, timeout=120)[0] == 200
        if index % 10 == 0:
            click(server, path)

    view(0)
    before = server.resident()
    for index in range(views):
        view(index)
    growth = (server.resident() - before) / 1e6
    emit("viewer: growth of the server, MB", growth, at_most=200, views=views, before_mb=before / 1e6)


def click(server: Server, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    body = json.dumps({"points": [{"x": 100, "y": 100}]})
    connection.request("POST", f"{path}/segment", body, {"X-Endotransfer": "1", "Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


def main(images: int, views: int, side: int, run: Path | None) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_images(root / "images", images, side)
        run = run or tiny_run(root)
        with launch() as browser, serving([run.resolve()], root / "images", root / "home") as server:
            emit("viewer: first image, folder just opened, s", first_image(browser, server.address), at_most=1)
            wait_for_survey(server)
            again = statistics.median(first_image(browser, server.address) for _ in range(5))
            emit("viewer: first image, folder known, s", again, at_most=1)
            own_time(browser, server)
            steps_and_frames(browser, server.address, 50)
            memory(server, views)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--views", type=int, default=2000)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--model", type=Path)
    asked = parser.parse_args()
    main(asked.images, asked.views, asked.side, asked.model)
