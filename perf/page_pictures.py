"""Pictures of the viewer's page in every state, on every screen, to be looked at.

`python -m perf.page_pictures RUN FOLDER --out DIR [--only WALK ...]`, from the repository's root, with Chromium.  RUN
is a run or a name, FOLDER holds images, and masks where there are any; sixteen of them are copied, for they are decided
about.  Runs and learning are shown on the phantom, with a tiny network that is trained first.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from endotransfer.data.phantom import write_phantom
from endotransfer.data.read.video_reader import import_av
from endotransfer.engine.run import train
from endotransfer.testing.tiny_tasks import tiny_experiment, write_backbone
from tests.browser.chromium import launch
from tests.browser.other_states import charted, learning, watching
from tests.browser.screens import SCREENS, Screen
from tests.browser.states import Walk, deciding, drawing, looking, measuring
from tests.served import serving

IMAGES = 16
SCROLL = """node => {
  if (!node.closest("dialog")) node.scrollIntoView({ block: innerWidth > 760 ? "nearest" : "start" });
}"""


def copied(folder: Path, into: Path) -> Path:
    """Some images, and their masks; the third is black, as with a capsule at rest."""
    for part in ("images", "masks"):
        (into / part).mkdir(parents=True)
    images = sorted(path for path in (folder / "images").iterdir())[:IMAGES]
    for image in images:
        shutil.copy(image, into / "images" / image.name)
        for mask in folder.glob(f"masks/{image.stem}.*"):
            shutil.copy(mask, into / "masks" / mask.name)
    if (folder / "labels.csv").is_file():
        head, *rows = (folder / "labels.csv").read_text(encoding="utf-8").splitlines()
        kept = [row for row in rows if row.split(",")[0] in {image.stem for image in images}]
        (into / "labels.csv").write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")
    with Image.open(images[2]) as third:
        third.point(lambda value: value // 40).save(into / "images" / images[2].name)
    return into


def filmed(images: Path, path: Path) -> None:
    """A slow pan over three of the images, one after the other."""
    av = import_av()
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=8)
        stream.width, stream.height, stream.pix_fmt = 512, 384, "yuv420p"
        for name in sorted(images.iterdir())[3:6]:
            with Image.open(name) as image:
                large = image.convert("RGB").resize((640, 512))
            for step in range(14):
                crop = np.asarray(large.crop((4 * step, 3 * step, 4 * step + 512, 3 * step + 384)))
                container.mux(stream.encode(av.VideoFrame.from_ndarray(crop, format="rgb24")))
        container.mux(stream.encode())


def take(page: Any, walk: Walk, out: Path) -> None:
    for number, (name, about) in enumerate(walk(page)):
        for screen in SCREENS:
            show_on(page, screen)
            page.locator(about).first.evaluate(SCROLL)
            page.wait_for_timeout(120)
            page.screenshot(path=out / f"{walk.__name__}-{number:02d}-{name.replace(' ', '-')}-{screen}.png")
        show_on(page, SCREENS[0])
        page.evaluate("scrollTo(0, 0)")


def show_on(page: Any, screen: Screen) -> None:
    page.set_viewport_size({"width": screen.width, "height": screen.height})
    page.emulate_media(color_scheme=screen.scheme)
    page.wait_for_timeout(150)


@contextmanager
def visited(browser: Any, address: str) -> Iterator[Any]:
    context = browser.new_context(**SCREENS[0].context)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    yield page
    context.close()


def nothing_yet(page: Any) -> Iterator[tuple[str, str]]:
    """A viewer without a folder: each view as it says so."""
    yield "no image", "#canvas"
    for tab in ("video", "runs", "learn"):
        page.click(f"#tab-{tab}")
        page.wait_for_timeout(400)
        yield f"no {tab}", f"#{tab}"


def main(run: str, folder: Path, out: Path, only: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    wanted: list[Walk] = [walk for walk in (looking, drawing, deciding, measuring, watching) if walk.__name__ in only]
    with tempfile.TemporaryDirectory() as name, launch() as browser:
        root = Path(name)
        if nothing_yet.__name__ in only:
            with serving([Path(run)], None, root / "alone") as server, visited(browser, server.address) as page:
                take(page, nothing_yet, out)
        images = copied(folder, root / "polyps")
        filmed(images / "images", images / "images" / "withdrawal.mp4")
        for walk in wanted:
            with serving([Path(run)], images, root / "home") as server, visited(browser, server.address) as page:
                take(page, walk, out)
            shutil.rmtree(images / "reviewed", ignore_errors=True)
        if {charted.__name__, learning.__name__} & set(only):
            phantom(browser, root, out, only)


def phantom(browser: Any, root: Path, out: Path, only: list[str]) -> None:
    """Two tiny models on a tiny task, the first of which can be trained again."""
    write_phantom(root / "phantom", 40, seed=1, size=64, processes=1)
    weights = write_backbone(root / "backbone.safetensors")
    runs = [root / "runs" / "tags", root / "runs" / "source"]
    for run, method in zip(runs, ("tag_transfer", "source_only"), strict=True):
        train(tiny_experiment("tagged", root / "phantom", weights, method, epochs=6, steps_per_epoch=10), run)
    with serving(runs, root / "phantom" / "capsule", root / "home") as server:
        for walk in (charted, learning):
            if walk.__name__ in only:
                with visited(browser, server.address) as page:
                    take(page, walk, out)


if __name__ == "__main__":
    walks = (nothing_yet, looking, drawing, deciding, measuring, watching, charted, learning)
    everything = [walk.__name__ for walk in walks]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=everything, default=everything)
    asked = parser.parse_args()
    main(asked.run, asked.folder, asked.out, asked.only)
