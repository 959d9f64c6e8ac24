"""The Python interface: what the command line can do, as functions.  The command line calls these.

A path may be text or a `Path`.  A mistake raises one of `endotransfer.errors`, whose text is one sentence.  Heavy
libraries are imported when a function is called.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from endotransfer.data_api import export_reviewed as export_reviewed
from endotransfer.data_api import import_dataset as import_dataset
from endotransfer.data_api import inspect_folder as inspect_folder
from endotransfer.data_api import split_folder as split_folder
from endotransfer.data_api import write_phantom as write_phantom
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.io import write_atomically
from endotransfer.paths import AnyPath, as_path, as_paths
from endotransfer.pretrained import locate_model

if TYPE_CHECKING:
    from pydantic import JsonValue
    from rich.console import Console

    from endotransfer.compare.benchmark_results import BenchmarkResults
    from endotransfer.compare.cells import Cell
    from endotransfer.compare.paired import Comparison
    from endotransfer.config import Experiment
    from endotransfer.engine.callbacks import Callback
    from endotransfer.export.check import Check
    from endotransfer.predict.image_predictor import ImagePredictor
    from endotransfer.results import Results

Precision = Literal["auto", "32", "bf16"]


class BenchmarkRun(NamedTuple):
    """`results`: what results.json holds.  `missing`: the cells without results, failed or not yet trained."""

    results: "BenchmarkResults"
    missing: "list[Cell]"


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


def benchmark(
    suite: AnyPath, out: AnyPath, *, settings: Sequence[str] = (), seeds: int | None = None, jobs: int = 1,
    only: Sequence[str] = (), force: bool = False, command: str = "", console: "Console | None" = None,
) -> BenchmarkRun:  # fmt: skip
    """Train every system of a suite (a file, or a built-in recipe) with every seed, and write the tables to `out`.

    A benchmark that was stopped continues.  `jobs`: systems trained side by side; `only`: their labels.
    """
    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.suite import read_suite
    from endotransfer.report.benchmark_table import write_tables

    folder = as_path(out, "out")
    results, missing = run_benchmark(
        read_suite(as_path(suite, "the suite"), list(settings)), folder, seeds=seeds, jobs=jobs, only=only, force=force,
        command=command, console=console, written=lambda results: write_tables(results, folder),
    )  # fmt: skip
    return BenchmarkRun(results, missing)


def sweep(
    suite: AnyPath, grid: "Mapping[str, Sequence[JsonValue]] | Sequence[str]", out: AnyPath, *,
    settings: Sequence[str] = (), system: str | None = None, seeds: int | None = None, jobs: int = 1,
    force: bool = False, command: str = "", console: "Console | None" = None,
) -> BenchmarkRun:  # fmt: skip
    """Train one method at every point of a grid of its settings: `{"mu": [1, 10]}`, or texts such as `mu=1,10`.

    `system`: vary the system of this label, not the file's `method`.
    """
    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.sweep import as_csv, read_grid, read_sweep
    from endotransfer.config import current_key

    folder = as_path(out, "out")
    values = {key: list(row) for key, row in grid.items()} if isinstance(grid, Mapping) else read_grid(grid)
    values = {current_key(key): row for key, row in values.items()}

    def write_csv(results: "BenchmarkResults") -> None:
        write_atomically(folder / "sweep.csv", as_csv(values, results.summary), CheckpointError)

    results, missing = run_benchmark(
        read_sweep(as_path(suite, "the suite"), values, list(settings), system), folder, seeds=seeds, jobs=jobs,
        force=force, command=command, console=console, written=write_csv, grid=values,
    )  # fmt: skip
    return BenchmarkRun(results, missing)


def search(
    suite: AnyPath, grids: AnyPath, out: AnyPath, *, settings: Sequence[str] = (), seeds: int | None = None,
    jobs: int = 1, force: bool = False, command: str = "", console: "Console | None" = None,
) -> BenchmarkRun:  # fmt: skip
    """Train several systems of a suite, each at every point of its own grid; `grids`: a YAML file of these."""
    from endotransfer.compare.runner import run_benchmark
    from endotransfer.compare.search import as_search_csv, read_grids, read_search

    folder = as_path(out, "out")

    def write_csv(results: "BenchmarkResults") -> None:
        write_atomically(folder / "search.csv", as_search_csv(results.summary), CheckpointError)

    results, missing = run_benchmark(
        read_search(as_path(suite, "the suite"), read_grids(as_path(grids, "grids")), list(settings)), folder,
        seeds=seeds, jobs=jobs, force=force, command=command, console=console, written=write_csv,
    )  # fmt: skip
    return BenchmarkRun(results, missing)


def compare_runs(
    first: AnyPath | Iterable[AnyPath], second: AnyPath | Iterable[AnyPath], metric: str = "miou", *,
    resamples: int = 1000,
) -> "Comparison":  # fmt: skip
    """`metric` of two runs on the same test images, and first minus second with its 95 % interval (paired).

    Several runs of a side are seeds of one system; runs of equal seeds are paired, and the interval is over seeds too.
    """
    from endotransfer.compare.paired import compare_runs as compare

    sides = [as_paths(runs, name) for runs, name in ((first, "the first run"), (second, "the second run"))]
    if not all(sides):
        raise ConfigError("a side of the comparison has no run; name at least one run folder for each.")
    return compare(sides[0], sides[1], metric, resamples)


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
