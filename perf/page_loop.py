"""The loop of the viewer wholly through its page, on the phantom: a batch, drawings, a training, before and after.

`python -m perf.page_loop [--seeds 3] [--batches 2] [--batch 10] [--out FOLDER]`, from the root of the repository, with
Chromium; some minutes a seed.  A first model (`tag_transfer`, the demo's network and schedule) is trained and served by
a process of its own.  All else is done in the page by a scripted person, whose drawings reach the service by pointer
and *Save correction* alone.  One JSON line a seed; what the page says of both models is held against their
results.json.  `--out` keeps the runs, and a first model that is finished there is not trained again.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from rich.console import Console

from endotransfer.cli.demo import PHANTOM, demo_experiment
from endotransfer.data.folders.reviewed import reviewed_mask_path
from endotransfer.data.phantom import write_phantom
from endotransfer.engine.run import train
from endotransfer.results import Results
from perf.page_hand import WAYS, Hand
from perf.scripted_expert import Area, dice
from tests.browser.chromium import launch
from tests.browser.looking import settled
from tests.served import Server, serving

TRAINING = 3_600_000  # milliseconds that a training may take on a busy machine


def lesion(path: Path, least: int = 1) -> Area:
    area: Area = np.asarray(Image.open(path)) >= least
    return area


def open_learn(browser: Any, server: Server) -> Any:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(server.address + "#learn")
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    page.wait_for_function("() => document.getElementById('survey').hidden", timeout=TRAINING)
    page.click("#tab-images")
    page.fill("#who", "scripted expert")
    page.uncheck("#advance")  # the links lead on, not the list
    page.click("#tab-learn")
    return page


def next_batch(page: Any, count: int) -> Iterator[str]:
    """Ask for a batch and follow its links, one after the other; each is to be decided before the next."""
    page.fill("#batch-count", str(count))
    with page.expect_response(lambda answer: answer.url.endswith("/batch")):
        page.click("#batch")
    page.wait_for_function("n => document.querySelectorAll('#batch-list a').length === n", arg=count)
    names = page.locator("#batch-list a").all_inner_texts()
    for name in names:
        page.click(f"#batch-list a:text-is('{name}')")
        page.wait_for_selector("#images:visible")
        settled(page, name)
        yield name
        page.click("#tab-learn")
        page.wait_for_selector(f"#batch-list li:has-text('{name} corrected')")


def draw_batches(page: Any, capsule: Path, batches: int, count: int, seed: int) -> dict[str, object]:
    """Draw every image that the page proposes; what was drawn, as it is on disk, against the truth."""
    random, scores, began = np.random.default_rng(seed), dict[str, float](), time.perf_counter()
    for _ in range(batches):
        for name in next_batch(page, count):
            truth = lesion(capsule / "masks" / f"{name}.png")
            hand = Hand(page, truth, random)
            hand.draw(WAYS[len(scores) % len(WAYS)])
            drawn = hand.seen()
            page.click("#save:enabled")
            page.wait_for_selector("#save:disabled")
            kept = reviewed_mask_path(capsule, name)
            assert kept is not None
            assert (lesion(kept) == drawn).all(), f"{name}: what was saved is not what was drawn"
            scores[name] = dice(drawn, truth)
    seconds = time.perf_counter() - began
    return {"drawn": len(scores), "dice": round(float(np.mean([*scores.values()])), 4),
            "worst": round(min(scores.values()), 4), "clicking_s": round(seconds)}  # fmt: skip


def retrain(page: Any) -> dict[str, list[str]]:
    """Press the button, wait for the end, read the table: before, after and difference by figure."""
    page.click("#job-start:enabled")
    page.wait_for_selector("#job-stop:visible", timeout=60_000)
    page.wait_for_selector("#compared:visible", timeout=TRAINING)
    assert "done" in page.inner_text("#job-note")
    rows = page.locator("#compared-rows tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def miou_of(run: Path) -> float:
    return float(Results.read(run / "results.json")["miou"])


def first_model(data: Path, run: Path, seed: int) -> None:
    if Results.read_if_whole(run / "results.json") is None:
        train(demo_experiment(data, "tag_transfer", "default", seed), run, console=Console(quiet=True))


def one_seed(browser: Any, folder: Path, seed: int, batches: int, count: int) -> dict[str, object]:
    capsule, first = folder / "phantom" / "capsule", folder / f"seed-{seed}" / "first"
    assert not (capsule / "reviewed").exists(), "what another seed has drawn is still there"
    first_model(folder / "phantom", first, seed)
    with serving([first.resolve()], capsule, first.parent / "home") as server:
        page = open_learn(browser, server)
        drawn = draw_batches(page, capsule, batches, count, seed)
        began = time.perf_counter()
        said = retrain(page)
        seconds = time.perf_counter() - began
        conclusion = page.inner_text("#compared-said")
        page.close()
        shutil.move(capsule / "reviewed", first.parent / "reviewed")  # the next seed begins without
    before, after = miou_of(first), miou_of(first.with_name("first-reviewed-1"))
    shown = [text.replace("−", "-") for text in said["mIoU"]]
    for text, value in zip(shown, (before, after, after - before), strict=True):
        assert abs(float(text.split()[0]) - value) <= 0.0501, f"the page says {text}, results.json {value}"
    return {"seed": seed, "before": before, "after": after, "gain": round(after - before, 2), **drawn,
            "training_s": round(seconds), "page": shown, "conclusion": conclusion}  # fmt: skip


def main(folder: Path, seeds: range, batches: int, count: int) -> None:
    if not (folder / "phantom").exists():
        write_phantom(folder / "phantom", PHANTOM["images"], PHANTOM["seed"], size=PHANTOM["size"])
    with launch() as browser:
        for seed in seeds:
            print(json.dumps(one_seed(browser, folder, seed, batches, count)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from-seed", type=int, default=0)
    parser.add_argument("--batches", type=int, default=2)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        seeds = range(asked.from_seed, asked.from_seed + asked.seeds)
        main(asked.out or Path(name), seeds, asked.batches, asked.batch)
