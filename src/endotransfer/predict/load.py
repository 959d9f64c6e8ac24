"""`endotransfer.load`: a run, a model folder or an exported bundle, ready to predict."""

from pathlib import Path
from typing import Literal

from endotransfer.errors import ConfigError
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.onnx_predictor import GRAPH, OnnxPredictor

Backend = Literal["auto", "torch", "onnx"]


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
