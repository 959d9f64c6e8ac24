"""The Python interface: what the command line can do, as functions.  The command line calls these.

A path may be text or a `Path`.  A mistake raises one of `endotransfer.errors`, whose text is one sentence.  Heavy
libraries are imported when a function is called.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from endotransfer.compare_api import BenchmarkRun as BenchmarkRun
from endotransfer.compare_api import benchmark as benchmark
from endotransfer.compare_api import compare_runs as compare_runs
from endotransfer.compare_api import search as search
from endotransfer.compare_api import sweep as sweep
from endotransfer.data_api import export_reviewed as export_reviewed
from endotransfer.data_api import import_dataset as import_dataset
from endotransfer.data_api import inspect_folder as inspect_folder
from endotransfer.data_api import split_folder as split_folder
from endotransfer.data_api import write_phantom as write_phantom
from endotransfer.paths import AnyPath, as_path, as_paths
from endotransfer.pretrained import locate_model

if TYPE_CHECKING:
    from rich.console import Console

    from endotransfer.config import Experiment
    from endotransfer.engine.callbacks import Callback
    from endotransfer.export.check import Check
    from endotransfer.predict.image_predictor import ImagePredictor
    from endotransfer.results import Results

Precision = Literal["auto", "32", "bf16"]


def read_experiment(path: AnyPath, settings: Sequence[str] = ()) -> "Experiment":
    """Read an experiment file, or the built-in recipe of that name.  `settings`: `a.b=c` each, as `--set` takes."""
    from endotransfer.config import read_experiment as read

    return read(as_path(path, "the experiment"), list(settings))


def init_experiment(
    source: AnyPath | Iterable[AnyPath], target: AnyPath | Iterable[AnyPath], out: AnyPath | None = None, *,
    backbone: str | None = None, weights: AnyPath | None = None, say: Callable[[str], None] = lambda line: None,
) -> "Experiment":  # fmt: skip
    """An experiment whose settings are chosen from the images and this machine; a target without a split is split.

    `out`: also write it there (a new file), with the reason for each setting.  `say` is told what was found and done.
    """
    from endotransfer.setup.init_experiment import Request
    from endotransfer.setup.init_experiment import init_experiment as init

    where, file = (None if path is None else as_path(path, "a file") for path in (out, weights))
    return init(Request(as_paths(source, "source"), as_paths(target, "target"), where, backbone, file), say)


def train(
    experiment: "Experiment | AnyPath",
    out: AnyPath,
    *,
    settings: Sequence[str] = (),
    resume: bool = False,
    force: bool = False,
    callbacks: "Sequence[Callback]" = (),
    console: "Console | None" = None,
) -> "Results | None":
    """Train, save the model and measure it; returns what results.json holds, or None if the run was asked to stop.

    `experiment`: an `Experiment`, or the path of one; `settings` (`a.b=c`) change it.  `resume` continues a run that
    was stopped; `force` replaces one.  `callbacks` are told of every step, epoch and checkpoint, and may stop the run.
    """
    from endotransfer.config import Experiment
    from endotransfer.engine.run import train as run

    if isinstance(experiment, Experiment):
        experiment = experiment.with_settings(settings) if settings else experiment
    else:
        experiment = read_experiment(experiment, settings)
    return run(experiment, as_path(out, "out"), resume=resume, force=force, console=console, callbacks=callbacks)


def evaluate(
    run: AnyPath,
    folders: AnyPath | Iterable[AnyPath],
    *,
    split: str | None = None, out: AnyPath | None = None, device: str | None = None, pranet: bool = False,
    flips: bool = False, contradictions: Literal["stop", "keep"] | None = None,
) -> "Results":  # fmt: skip
    """Measure the model of `run` on labelled images: the split `test` of `folders` where they have one, unless asked.

    `out`: also write them to this JSON file.  `pranet` adds the PraNet protocol, `flips` averages over four mirror
    images.  `contradictions`: a tag against its mask stops it, or is kept; None: as the run was trained.
    """
    from endotransfer.engine.run import evaluate as measure

    path = None if out is None else as_path(out, "out")
    return measure(
        locate_model(run, "run"), as_paths(folders, "folders"), split=split, out=path, device=device, pranet=pranet,
        flips=flips, contradictions=contradictions,
    )  # fmt: skip


def load(
    run: AnyPath,
    device: str | None = None,
    *,
    flips: bool = False,
    precision: Precision = "32",
    backend: Literal["auto", "torch", "onnx"] = "auto",
    threads: int | None = None,
) -> "ImagePredictor":
    """The model of a run folder, a model folder or an exported bundle, ready to predict; or one by its name.

    Names are those that `endotransfer models` lists, and `hf://owner/name` for a repository of a model hub.  A bundle
    is run by ONNX Runtime (with `threads` of the CPU), unless a `device` or `backend="torch"` is asked for; everything
    else by torch.  `flips` averages over four mirror images; `precision="auto"` is bf16 on a GPU.
    """
    from endotransfer.predict.load import load as open_model

    path = locate_model(run, "run")
    return open_model(path, device, flips=flips, precision=precision, backend=backend, threads=threads)


def predict_files(
    run: AnyPath,
    inputs: AnyPath | Iterable[AnyPath],
    out: AnyPath,
    *,
    masks: Literal["png", "rle", "polygons", "none"] | None = None,
    overlays: bool = True,
    batch: int | None = None,
    flips: bool = False,
    precision: Precision = "auto",
    device: str | None = None,
    backend: Literal["auto", "torch", "onnx"] = "auto",
    console: "Console | None" = None,
) -> None:
    """Write masks, overlays and tables for images, folders and patterns of them, and an annotated copy of videos.

    `backend`: on a CPU many pictures are predicted by ONNX Runtime where that is quicker, unless it is `torch`.
    """
    from endotransfer.export.graph_cache import choose_graph
    from endotransfer.predict.predict_files import predict_files as predict

    predict(
        locate_model(run, "run"), as_paths(inputs, "inputs"), as_path(out, "out"), console, masks=masks,
        overlays=overlays, batch=batch, flips=flips, precision=precision, device=device, backend=backend,
        choose_graph=choose_graph,
    )  # fmt: skip


def export_model(
    run: AnyPath, out: AnyPath, *, size: tuple[int, int] | None = None, images: AnyPath | None = None
) -> "Check":
    """Write a bundle that runs with ONNX Runtime alone, checked against torch; returns how closely they agree.

    `size` = (height, width): take only images of this size; None: any.  `images`: also check on this folder.
    """
    from endotransfer.export.bundle import write_bundle

    folder = None if images is None else as_path(images, "images")
    return write_bundle(locate_model(run, "run"), as_path(out, "out"), size=size, images=folder)


def push_model(
    run: AnyPath, out: AnyPath, *, to: str | None = None, private: bool = False, half: bool = False,
    graph: bool = False, title: str = "", terms: str = "unknown", datasets: Sequence[str] = (),
    about: AnyPath | None = None, results: AnyPath | Iterable[AnyPath] = (), pictures: AnyPath | Iterable[AnyPath] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Path:  # fmt: skip
    """Write a folder that a model hub takes, and with `to="owner/name"` upload it; returns the folder.

    `half`: weights in half precision; `graph`: also a graph for ONNX Runtime, which shares them.  `results`: files of
    `evaluate(out=)`, else the run's own figures; `about`: Markdown for the card; `pictures`: PNG files for it.
    """
    from endotransfer.publish.hub_folder import write_hub_folder
    from endotransfer.publish.publication import Publication

    asked = Publication(
        title, terms, tuple(datasets), None if about is None else as_path(about, "about"),
        tuple(as_paths(results, "results")), tuple(as_paths(pictures, "pictures")), half, graph, to,
    )  # fmt: skip
    folder = write_hub_folder(locate_model(run, "run"), as_path(out, "out"), asked)
    say(f"written: {folder}")
    if to is not None:
        from endotransfer.publish.hub_upload import upload_folder

        say(f"uploaded: {upload_folder(folder, to, private=private)}")
    return folder


def write_report(
    folder: AnyPath,
    out: AnyPath | None = None,
    *,
    data: AnyPath | Iterable[AnyPath] = (),
    photographs: bool = True,
    force: bool = False,
    console: "Console | None" = None,
) -> Path:
    """Write one self-contained HTML page about a run, a benchmark, a sweep or a demo; returns its path.

    `data`: where folders of images lie now, if they were moved.  Without `photographs`, masks are drawn on grey.
    """
    from endotransfer.report.html_report import write_report as write

    return write(
        as_path(folder, "the folder"), None if out is None else as_path(out, "out"), data=as_paths(data, "data"),
        photographs=photographs, force=force, console=console,
    )  # fmt: skip
