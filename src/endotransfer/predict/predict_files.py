"""Predict files, folders, patterns and videos: masks, overlays, annotated videos and tables of figures.

What cannot be read is reported, and the rest goes on.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

from PIL import Image
from rich.console import Console

from endotransfer.data.read.read_image import read_image
from endotransfer.data.read.video_reader import VideoReader
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.errors import DataError
from endotransfer.io import write_atomically
from endotransfer.predict.coco_writer import CocoWriter
from endotransfer.predict.inputs import Input, list_inputs
from endotransfer.predict.load import Backend, ChooseGraph, load, load_quickest
from endotransfer.predict.meter import Meter
from endotransfer.predict.overlay import overlay
from endotransfer.predict.pipeline import ahead
from endotransfer.predict.prediction_job import Masks, PredictionJob
from endotransfer.predict.prediction_tables import PredictionTables
from endotransfer.predict.shots import Marked, Shot, infer
from endotransfer.predict.video import VideoReport, predict_video

FRAMES = 1000  # that a video counts for; how many it has shows when it is read
READERS = 4  # threads: decoding and compressing release the interpreter


def predict_files(
    run: Path,
    inputs: Iterable[Path],
    out: Path,
    console: Console | None = None,
    *,
    masks: Masks | None = None,
    overlays: bool = True,
    batch: int | None = None,
    flips: bool = False,
    precision: Literal["auto", "32", "bf16"] = "auto",
    device: str | None = None,
    backend: Backend = "auto",
    choose_graph: ChooseGraph | None = None,
) -> Path:
    """Write what is predicted for every image and video of `inputs` to `out`; returns the table's path.

    `choose_graph`: finds or makes the network's graph where that is quicker than torch; None: torch, or the bundle.
    """
    console = console or Console()
    wanted = list_inputs(list(inputs))
    if out.exists() and any(out.iterdir()):
        raise DataError(f"{out} is not empty; choose another --out, nothing is overwritten.")
    images, videos = [one for one in wanted if not one.video], [one for one in wanted if one.video]
    # The other stages of a video need a core as well.
    threads = max(1, (os.cpu_count() or 1) - 1) if videos else None
    if choose_graph is None:
        predictor = load(run, device, flips=flips, precision=precision, backend=backend, threads=threads)
    else:
        predictor = load_quickest(
            run, len(images) + FRAMES * len(videos), choose_graph, partial(console.print, markup=False, soft_wrap=True),
            device=device, flips=flips, precision=precision, backend=backend, threads=threads,
        )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    coco = CocoWriter(predictor.classes, masks) if masks in ("rle", "polygons") else None
    with PredictionTables(out, predictor.classes) as tables:
        size = batch or predictor.batch_size
        job = PredictionJob(out, predictor, size, masks, overlays, console, tables, coco)
        summaries = [_predict_images(job, images)] if images else []
        summaries += [_predict_one_video(job, one) for one in videos]
    if coco is not None:
        content = json.dumps(coco.content(description=DISCLAIMER))
        write_atomically(out / "masks.coco.json", content, DataError)
    _print_summary(job, summaries, len(images), len(videos))
    return tables.csv


def _predict_images(job: PredictionJob, images: Sequence[Input]) -> str:
    done, before, warned = 0, len(job.tables.faults), job.warned()
    with Meter(job.console, "predicting", len(images)) as meter:
        marked = ahead(infer(ahead(_read_all(images)), job.predictor, job.batch))
        for shot, marks in ahead(_draw_all(meter.watch(marked), job)):
            job.write(shot, marks)
            done += marks is not None
        rate = meter.rate
    job.print_faults(before, most=None)
    job.print_warnings(warned, "images")
    return f"{done} of {len(images)} images predicted ({rate:.1f} a second)"


def _read_all(images: Sequence[Input]) -> Iterator[Shot]:
    """In order, a few read at the same time; never more of them in memory than are being read."""
    with ThreadPoolExecutor(READERS) as pool:
        for start in range(0, len(images), READERS):
            yield from pool.map(_read, images[start : start + READERS])


def _read(image: Input) -> Shot:
    shot = partial(Shot, image.name, str(image.file))
    try:
        return shot(read_image(image.file))
    except DataError as reason:
        return shot(None, str(reason))


def _draw_all(marked: Iterable[Marked], job: PredictionJob) -> Iterator[Marked]:
    if job.overlays:
        (job.out / "overlays").mkdir(exist_ok=True)
    for shot, marks in marked:
        if job.overlays and shot.pixels is not None and marks is not None:
            # The standard compression takes three times as long as everything else for a twelfth less of the disk.
            path = job.out / "overlays" / f"{shot.name}.png"
            Image.fromarray(overlay(shot.pixels, marks.mask)).save(path, compress_level=1)
        yield shot, marks


def _predict_one_video(job: PredictionJob, video: Input) -> str:
    before, warned = len(job.tables.faults), job.warned()
    try:
        with VideoReader(video.file, video.name) as reader, Meter(job.console, video.name, reader.expected) as meter:
            (job.out / "videos").mkdir(exist_ok=True)
            path = job.out / "videos" / f"{video.name}.mp4"
            report = predict_video(
                job.predictor, reader, path, batch=job.batch, look=job.write, watch=meter.watch
            )  # fmt: skip
    except DataError as reason:
        job.tables.add_fault(Shot(video.name, str(video.file), None, str(reason)))
        return f"not predicted: {reason}"
    if report.cut_short:
        job.tables.add_fault(Shot(video.name, str(video.file), None, report.cut_short))
    job.print_faults(before)
    job.print_warnings(warned, f"frames of {video.file}")
    return _video_summary(video, report)


def _video_summary(video: Input, report: VideoReport) -> str:
    stages = ", ".join(f"{name} {1000 * busy / report.frames:.1f}" for name, busy in report.stages.items())
    return (
        f"{report.frames - report.unread} of {report.frames} frames of {video.file} predicted "
        f"({report.rate:.1f} a second; milliseconds a frame: {stages})"
    )


def _print_summary(job: PredictionJob, summaries: list[str], images: int, videos: int) -> None:
    tables = job.tables
    if not len(tables):
        what = f"{images} images" if images else f"{videos} videos"
        raise DataError(f"none of the {what} could be predicted; the first reason: {tables.faults[0]['reason']}")
    for line in summaries:
        job.console.print(f"{line}; see {tables.csv}", markup=False, soft_wrap=True)
