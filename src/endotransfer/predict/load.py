"""`endotransfer.load`: a run, a model folder or an exported bundle, ready to predict."""

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from endotransfer.errors import ConfigError
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.onnx_predictor import GRAPH, OnnxPredictor

Backend = Literal["auto", "torch", "onnx"]
Say = Callable[[str], None]


class GraphChoice(NamedTuple):
    """The folder of a network's graph, or None, and why."""

    folder: Path | None
    why: str


# (run, pictures, say, whether it is asked for) -> the graph to use; `export` makes them, which nothing here may import
ChooseGraph = Callable[[Path, int, Say, bool], GraphChoice]


def load(
    run: Path | str,
    device: str | None = None,
    *,
    flips: bool = False,
    precision: Literal["auto", "32", "bf16"] = "32",
    backend: Backend = "auto",
    threads: int | None = None,
) -> ImagePredictor:
    """`run`: a run folder, its `model/` folder, or a bundle that `endotransfer export` wrote.

    A bundle is run by ONNX Runtime (with `threads` of the CPU), unless a `device` or `backend="torch"` is asked for;
    everything else by torch.  `flips` averages the predictions of four mirror images; `precision` is torch's:
    bf16 halves the bits of the network, auto does so on a GPU.
    """
    folder = Path(run)
    bundle = (folder / GRAPH).is_file()
    if backend == "onnx" and not bundle:
        raise ConfigError(f"{folder} holds no {GRAPH}; write a bundle with `endotransfer export` first.")
    if backend == "onnx" or (backend == "auto" and bundle and device in (None, "cpu") and precision != "bf16"):
        return OnnxPredictor(folder, flips=flips, threads=threads)
    from endotransfer.predict import predictor  # here, because torch is slow to import and a bundle needs none

    return predictor.load(folder, device, flips=flips, precision=precision)


def load_quickest(
    run: Path, pictures: int, choose: ChooseGraph, say: Say, *, device: str | None, flips: bool,
    precision: Literal["auto", "32", "bf16"], backend: Backend, threads: int | None,
) -> ImagePredictor:  # fmt: skip
    """For many `pictures` on a CPU the network's own graph in ONNX Runtime; `say` is told which it is, and why."""
    bundle = (run / GRAPH).is_file()
    if bundle or backend == "torch" or precision == "bf16" or not _on_cpu(device):
        by_graph = bundle and backend != "torch" and device in (None, "cpu") and precision != "bf16"
        say("ONNX Runtime predicts (a bundle)" if by_graph else f"torch predicts on {device or 'the best device'}")
        return load(run, device, flips=flips, precision=precision, backend=backend, threads=threads)
    chosen = choose(run, pictures, say, backend == "onnx")
    if chosen.folder is None:
        if backend == "onnx":
            raise ConfigError(f"ONNX Runtime cannot predict this: {chosen.why}; leave --backend out.")
        say(f"torch predicts ({chosen.why})")
        return load(run, device, flips=flips, precision=precision, backend=backend, threads=threads)
    from endotransfer.predict.network_graph import NetworkGraph

    say(f"ONNX Runtime predicts ({chosen.why}); --backend torch overrules it")
    return NetworkGraph(chosen.folder, flips=flips, threads=threads)


def _on_cpu(device: str | None) -> bool:
    """Whether `device` is the CPU, or the best there is, without loading torch where its package says it has no GPU."""
    if device is not None:
        return device == "cpu"
    try:
        if "torch" not in sys.modules and "+cpu" in version("torch"):
            return True
    except PackageNotFoundError:
        return True
    from endotransfer.engine.choose_device import choose_device

    return choose_device().type == "cpu"
