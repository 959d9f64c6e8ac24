"""What the program keeps for itself and what other programs wrote, damaged: absent, refused in a sentence, or whole."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from endotransfer.batch import Sample
from endotransfer.config import SuperpixelConfig
from endotransfer.data.folders.drawn_sample import Plan, read_plan, write_plan
from endotransfer.data.folders.review_record import Review
from endotransfer.data.folders.reviewed import read_reviewed_mask, write_review
from endotransfer.data.importers.coco_file import read_coco
from endotransfer.data.importers.outlines import outline_mask
from endotransfer.data.importers.tag_table import read_tag_table
from endotransfer.data.pipeline.pixel_cache import PixelCache
from endotransfer.data.pipeline.superpixel_file import decode_regions, encode_regions
from endotransfer.data.pipeline.superpixels import compute_superpixels
from endotransfer.data.read.frame_seeker import FrameIndex
from endotransfer.engine.map_store import MapStore
from endotransfer.predict.network_graph import GraphFacts, read_facts
from endotransfer.sealed_json import sealed
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.learning.job_file import JobFolder, TrainingJob
from endotransfer.serve.learning.job_log import read_job_log
from endotransfer.serve.learning.retraining import Retraining
from endotransfer.serve.video.video_cache import FrameStore, VideoCache
from endotransfer.serve.video.video_catalogue import VideoFacts, kept_facts
from endotransfer.serve.video.video_walk import last_walk
from fuzz.mutations import damaged_bytes, damaged_json
from fuzz.outcome import FuzzOutcome

SIZE: tuple[int, int] = (24, 32)
VIDEO = "d" * 32
Kept = tuple[Path, Callable[[], object]]  # a file, and what is read from it: None where it counts as absent


def damage_caches(folder: Path, count: int, draw: random.Random) -> FuzzOutcome:
    """Files with a checksum of ours: whatever byte is damaged, they are absent, refused, or what they were."""
    outcome = FuzzOutcome("caches")
    folder.mkdir(parents=True, exist_ok=True)
    kept = [_pixels(folder), _superpixels(folder), _frame(folder), _maps(folder), _graph(folder), _review(folder)]
    whole = [(path, path.read_bytes(), _text(read()), read) for path, read in kept]
    for number in range(count):
        path, content, before, read = draw.choice(whole)
        path.write_bytes(damaged_bytes(content, draw))

        def unchanged(found: object, before: str = before) -> bool:
            return found is None or _text(found) == before

        outcome.attempt(f"{path.name} {number}", read, unchanged)
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    return outcome


def _text(found: object) -> str:
    return repr(found.tolist() if isinstance(found, np.ndarray) else found)


def _pixels(folder: Path) -> Kept:
    cache, name = PixelCache(folder / "pixels"), "ab" * 16
    cache.put(name, (_picture().transpose(2, 0, 1), None), {"a note"})

    def read() -> object:
        found = cache.get(name, SIZE, masks=False)
        return None if found is None else (found[0][0].tolist(), found[1])

    return folder / "pixels" / "ab" / name, read


def _superpixels(folder: Path) -> Kept:
    path = folder / "regions"
    path.write_bytes(encode_regions(compute_superpixels(_picture(), SuperpixelConfig())))
    return path, lambda: decode_regions(path.read_bytes(), *SIZE)


def _frame(folder: Path) -> Kept:
    cache = VideoCache(folder / "videos")
    entry = CatalogueEntry("x", "x", Sample("x", cache.picture(VIDEO, 7)), source=VIDEO)
    store = FrameStore(cache, ["model"])
    store.write(entry, {"area": 0.25, "doubt": 0.5}, [b"one", b"two"])

    def read() -> object:
        store.read_figures(VIDEO, 7)
        return store.read(entry)

    return next(folder.joinpath("videos").rglob("*.safetensors")), read


def _maps(folder: Path) -> Kept:
    store = MapStore(folder / "maps", classes=2)
    store.open_pass(0)
    store.store(["a"], torch.tensor(_picture()[None, ..., 0] % 2))
    store.flush()
    store.close_pass(0)
    return folder / "maps" / "epoch-0000" / "a.png", lambda: MapStore(folder / "maps", classes=2).read(0, "a")


def _graph(folder: Path) -> Kept:
    path = folder / "graph.json"
    path.write_text(sealed(GraphFacts(classes=["a", "b"], size=(4, 5), sha256="0" * 64).model_dump(mode="json")))
    return path, lambda: read_facts(folder)


def _review(folder: Path) -> Kept:
    place = folder / "reviews"
    written = write_review(place, "a", Review("corrected", "Ada", "2026-01-01", None, "1"), _picture()[..., 0] % 2)
    return place / "reviewed" / "versions" / str(written.mask), lambda: read_reviewed_mask(place, "a", 2)


def _picture() -> Any:
    return np.random.default_rng(0).integers(0, 255, (*SIZE, 3)).astype(np.uint8)


JOB = TrainingJob(out="a-reviewed-1", before="a", reviewed=2, began=1e9, pid=4_000_000, process="boot 17")
FACTS = VideoFacts(VIDEO, 48, 64, 5.0, FrameIndex([0.0, 0.2, 0.4], [0, 1, 2]))
PLAN = Plan(["a", "b"], "test", 3, "2026-01-01")
COCO = {
    "images": [{"id": 1, "file_name": "a.png"}, {"id": 2, "file_name": "b.png"}],
    "categories": [{"id": 1, "name": "polyp"}],
    "annotations": [
        {"image_id": 1, "category_id": 1, "segmentation": [[1, 1, 20, 1, 20, 20, 1, 20]]},
        {"image_id": 2, "category_id": 1, "segmentation": {"counts": [700, 20, 48], "size": [24, 32]}},
        {"image_id": 2, "category_id": 1, "segmentation": {"counts": "lg0d0`0", "size": [24, 32]}},
    ],
}  # fmt: skip
TABLE = "Dateiname;Befund;Patient\na.png;Läsion;1\nb.png;normal;2\n"
LOG = "epoch 1 (all): step 40 of 400, loss 0.3\nerror: there is no /home/ada/data; make it.\n"


def _outlines(source: Path) -> list[Any]:
    return [outline_mask(one.segmentation, SIZE).sum() for one in read_coco(source, "").annotations]


def damage_notes(folder: Path, count: int, draw: random.Random) -> FuzzOutcome:
    """Notes without a checksum, and files of other programs: by their bytes and by their values."""
    outcome = FuzzOutcome("notes and imports")
    (folder / "retraining").mkdir(parents=True, exist_ok=True)
    (folder / "coco").mkdir()
    write_plan(folder, PLAN)
    record = folder / "reviewed" / "a.json"
    write_review(folder, "a", Review("corrected", "Ada", "2026-01-01", None, "1"), _picture()[..., 0] % 2)
    kinds: list[tuple[Path, Any, Callable[[], object]]] = [
        (folder / "retraining" / "a-reviewed-1.json", JOB.model_dump(), lambda: _as_json(folder)),
        (folder / "retraining" / "a-reviewed-1.log", LOG, lambda: read_job_log(JobFolder(folder).log_of(JOB))),
        (folder / "walk.json", {"rate": 5.0, "state": "running"}, lambda: last_walk(folder / "walk.json")),
        (folder / "video.json", json.loads(sealed(asdict(FACTS))), lambda: kept_facts(folder / "video.json")),
        (record, json.loads(record.read_text()), lambda: read_reviewed_mask(folder, "a", 2)),
        (folder / "reviewed" / "sample.yaml", asdict(PLAN), lambda: read_plan(folder)),
        (folder / "coco" / "a.json", COCO, lambda: _outlines(folder / "coco")),
        (folder / "tags.csv", TABLE, lambda: read_tag_table(folder / "tags.csv").rows),
    ]
    for path, tree, _ in kinds:
        path.write_bytes(_content(path, tree))
    for number in range(count):
        path, tree, read = draw.choice(kinds)
        by_value = not isinstance(tree, str) and draw.random() < 0.7
        changed = _content(path, damaged_json(tree, draw)) if by_value else damaged_bytes(_content(path, tree), draw)
        path.write_bytes(changed)
        outcome.attempt(f"{path.name} {number}", read, lambda found: True)
        path.write_bytes(_content(path, tree))
    return outcome


def _as_json(folder: Path) -> str:
    """What the page is sent, which must be JSON."""
    return json.dumps(Retraining(folder / "a").status(), allow_nan=False)


def _content(path: Path, tree: Any) -> bytes:
    text = tree if isinstance(tree, str) else yaml.safe_dump(tree) if path.suffix == ".yaml" else json.dumps(tree)
    return bytes(text.encode(errors="surrogatepass"))


def fuzz_kept(folder: Path, share: float, draw: random.Random) -> list[FuzzOutcome]:
    """At `share` 1: five thousand damaged files."""
    outcomes = [
        damage_caches(folder / "a", round(2000 * share), draw), damage_notes(folder / "b", round(3000 * share), draw),
    ]  # fmt: skip
    shutil.rmtree(folder, ignore_errors=True)
    return outcomes
