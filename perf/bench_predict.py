"""Prediction: ONNX Runtime against eager torch, and a video through all its stages.

The network is the small one: MobileNetV3-small at 256 px, a pyramid of 64 channels, weights as they fall (speed does
not depend on them).  The video has 1920 x 1080 pixels.
"""

import os
import tempfile
import time
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import torch

from endotransfer.config import ModelConfig
from endotransfer.data.folders.classes import Classes
from endotransfer.data.phantom.generate import render
from endotransfer.data.read.video_reader import VideoReader, import_av
from endotransfer.engine.model_folder import save_model
from endotransfer.errors import ConfigError
from endotransfer.export.graph_cache import WORTHWHILE, choose_graph, graphs_folder
from endotransfer.methods import TaskInfo, method_config
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.load import load
from endotransfer.predict.network_graph import NetworkGraph
from endotransfer.predict.overlay import overlay
from endotransfer.predict.prediction import Marks, Pixels
from endotransfer.predict.shots import Shot
from endotransfer.predict.video import VideoReport, predict_video
from endotransfer.predict.video_writer import VideoWriter
from endotransfer.results import Results
from perf.timing import emit, median_seconds, skip
from perf.untrained import untrained_weights

BACKBONE, SIZE = "mobilenetv3_small_100", 256
FRAMES, HEIGHT, WIDTH, RATE = 200, 1080, 1920, Fraction(25)
ALONE = 50  # frames that a stage is timed on by itself


def write_model(folder: Path) -> Path:
    """A model folder of the small network, as training would leave it."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as name:
        weights = untrained_weights(BACKBONE, Path(name))
        model = ModelConfig(backbone=BACKBONE, weights=weights, norm="frozen", multi_grid=None, aspp_channels=64)
        cls, preset, config = method_config({"name": "source_only"})
        method = cls(TaskInfo(2, True, model, epochs=1), config)
    settings = {"name": cls.name, "preset": preset}
    save_model(folder, method, Classes(), (SIZE, SIZE), settings, Results(method=cls.name), {})
    return folder


def write_video(path: Path, frames: int = FRAMES) -> Path:
    """A generated endoscopy: the camera drifts over a phantom image."""
    av = import_av()
    wide = np.tile(render("capsule", 1, seed=0, size=1024).image, (2, 3, 1))
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for index in range(frames):
            window = wide[index % 300 : index % 300 + HEIGHT, 2 * (index % 300) : 2 * (index % 300) + WIDTH]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(window), format="rgb24")))
        container.mux(stream.encode())
    return path


def measure_runtime(model: Path, graph: Path) -> None:
    """One image after the other, at 256 px, in the same run; both with all cores, and both with one."""
    image = render("capsule", 1, seed=0, size=SIZE).image
    cores = torch.get_num_threads()
    for threads in dict.fromkeys((cores, 1)):
        torch.set_num_threads(threads)
        eager, exported = load(model, "cpu"), NetworkGraph(graph, threads=threads)
        rival = median_seconds(partial(eager.predict, image), repeats=31, warmup=5)
        ours = median_seconds(partial(exported.predict, image), repeats=31, warmup=5)
        emit(
            "ONNX Runtime", rival / ours, at_least=1.8, seconds=ours, rival="eager torch", rival_seconds=rival,
            threads=threads, size=SIZE, backbone=BACKBONE,
        )  # fmt: skip
    torch.set_num_threads(cores)


class Blob:
    """A predictor whose marks always cover an eighth of the frame, so that drawing has something to draw."""

    def __init__(self, inner: ImagePredictor) -> None:
        self.inner, self.classes = inner, inner.classes
        rows, columns = np.mgrid[:HEIGHT, :WIDTH]
        self.mask = (((rows - HEIGHT // 2) ** 2 + (columns - WIDTH // 2) ** 2) < (HEIGHT // 4) ** 2).astype(np.uint8)

    def mark_batch(self, images: list[Pixels]) -> list[Marks]:
        return [Marks(self.mask, one.certainty, one.lesion_probability) for one in self.inner.mark_batch(images)]


def alone(predictor: Blob, video: Path, batch: int, out: Path) -> dict[str, float]:
    """Seconds a frame of each stage with the machine to itself."""
    with VideoReader(video) as reader:
        shots: list[Shot] = []

        def decode() -> None:
            shots.extend(shot for shot, _ in zip(reader, range(ALONE), strict=False))

        seconds = {"decode": median_seconds(decode, repeats=1, warmup=0) / ALONE}
        pictures = [shot.pixels for shot in shots if shot.pixels is not None]
        groups = [pictures[start : start + batch] for start in range(0, len(pictures), batch)]
        marks: list[Marks] = []
        predictor.mark_batch(groups[0])

        def infer() -> None:
            marks.extend(one for group in groups for one in predictor.mark_batch(group))

        seconds["inference"] = median_seconds(infer, repeats=1, warmup=0) / ALONE
        pairs = list(zip(pictures, marks, strict=True))
        drawn: list[Pixels] = []

        def draw() -> None:
            drawn.extend(overlay(pixels, one.mask) for pixels, one in pairs)

        seconds["draw"] = median_seconds(draw, repeats=1, warmup=0) / ALONE

        def encode() -> None:
            with VideoWriter(out, reader) as writer:
                for shot, pixels in zip(shots, drawn, strict=True):
                    writer.write(pixels, shot.time or Fraction(0))

        seconds["encode"] = median_seconds(encode, repeats=1, warmup=0) / ALONE
    return seconds


def measure_video(predictor: ImagePredictor, folder: Path, name: str, batch: int, at_least: float | None) -> None:
    video, blob = folder / "video.mp4", Blob(predictor)
    by_itself = alone(blob, video, batch, folder / "alone.mp4")
    before_all = time.process_time()
    with VideoReader(video) as reader:
        report: VideoReport = predict_video(blob, reader, folder / "out.mp4", batch=batch)  # type: ignore[arg-type]
    core_ms = 1000 * (time.process_time() - before_all) / FRAMES  # of all threads; others on the machine do not count
    with VideoReader(video) as before, VideoReader(folder / "out.mp4") as after:
        same = (before.expected, before.rate) == (after.expected, after.rate) and report.frames == FRAMES
    slowest = max(by_itself, key=lambda stage: by_itself[stage])
    facts = {f"{stage}_ms": 1000 * busy / report.frames for stage, busy in report.stages.items()}
    facts |= {f"{stage}_alone_ms": 1000 * seconds for stage, seconds in by_itself.items()}
    emit(f"video, {name}: frames a second", report.rate, at_least=at_least, frames=report.frames, same_frames=same,
         core_ms_a_frame=core_ms, rate_of_two_free_cores=2000 / core_ms)  # fmt: skip
    emit(
        f"video, {name}: rate over that of its slowest stage in the same run", report.share_of_slowest, at_least=0.8,
        against_the_slowest_stage_alone=report.rate * by_itself[slowest], slowest_alone=slowest, **facts,
    )  # fmt: skip


def cached_graph(model: Path, cache: Path) -> Path:
    """The graph that `predict` makes of a model."""
    os.environ["ENDOTRANSFER_CACHE"] = str(cache)
    choose_graph(model, WORTHWHILE, print)
    (folder,) = graphs_folder().iterdir()
    return folder


def main(options: list[str]) -> None:
    try:
        import_av()
    except ConfigError as reason:
        skip("video 1920 x 1080, frames a second", str(reason))
        video = False
    else:
        video = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = write_model(folder / "model")
        threads = max(1, torch.get_num_threads() - 1)  # as `endotransfer predict` has it: the other stages need a core
        if video:
            write_video(folder / "video.mp4")
        if torch.cuda.is_available() and video:
            measure_video(load(model, "cuda", precision="auto"), folder, "torch on the GPU", 16, at_least=60)
        try:
            graph = cached_graph(model, folder / "cache")
        except ImportError as reason:
            skip("ONNX Runtime against eager torch", str(reason))
            return
        measure_runtime(model, graph)
        if video and not torch.cuda.is_available():
            measure_video(NetworkGraph(graph, threads=threads), folder, "ONNX Runtime", 1, at_least=25)


if __name__ == "__main__":
    main([])
