"""`endotransfer export`: a folder that a hospital's own software can run, with all that its user must know."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from endotransfer import __version__
from endotransfer.data.read.image_limits import oversize
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.engine.model_folder import TrainedModel, load_model
from endotransfer.engine.model_info import ModelInfo
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.export.card import bundle_card
from endotransfer.export.check import Check, check_against_torch
from endotransfer.familiarity.familiarity_file import FILE as FAMILIARITY
from endotransfer.io import write_atomically
from endotransfer.predict.onnx_predictor import GRAPH, OnnxPredictor
from endotransfer.predict.predictor import Predictor
from endotransfer.sealed_json import sealed

if TYPE_CHECKING:
    from onnx import ModelProto


def write_bundle(run: Path, out: Path, *, size: tuple[int, int] | None = None, images: Path | None = None) -> Check:
    """Write the predicting network of `run` to `out`, checked against torch; nothing is left where the check fails.

    `size` = (H, W): the graph takes only images of this size; None: of any.  `images`: check on these as well.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not an empty folder; choose another --out, nothing is overwritten.")
    if size is not None and (wrong := oversize(*size)):
        raise ConfigError(f"--size {size[0]} {size[1]} {wrong}; choose a smaller one.")
    source = run / "model" if (run / "model").is_dir() else run
    model = load_model(run)
    shape = input_size(model)
    content = bytes(graph_of(model, shape, size).SerializeToString())
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source / "weights.safetensors", out / "weights.safetensors")
        if model.familiarity is not None:
            shutil.copyfile(source / FAMILIARITY, out / FAMILIARITY)
        write_atomically(out / GRAPH, content, CheckpointError)
        write_graph_config(out, model.info, content, size, None)
        cpu = torch.device("cpu")
        check = check_against_torch(OnnxPredictor(out), Predictor(model, cpu), shape, images)
        write_graph_config(out, model.info, content, size, check)
        labels = {str(index): name for index, name in enumerate(model.classes.names)}
        write_atomically(out / "labels.json", json.dumps(labels, indent=2, ensure_ascii=False), CheckpointError)
        write_atomically(out / "README.md", bundle_card(run, source, model, size, check), CheckpointError)
    except BaseException:
        _clear(out, remove=new)
        raise
    return check


def input_size(model: TrainedModel) -> tuple[int, int]:
    """(H, W) at which the network sees every image."""
    geometry = model.geometry
    if geometry.size is None or geometry.window is not None:
        how = "through a sliding window" if geometry.window else "at its own size"
        raise ConfigError(
            f"this model looks at every image {how}, which an exported graph cannot do; predict with the run itself."
        )
    return geometry.size


def graph_of(
    model: TrainedModel, shape: tuple[int, int], size: tuple[int, int] | None, *, optimise: bool = True
) -> "ModelProto":
    """The whole graph, from pixels to probabilities."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as reason:
        raise ConfigError(f"{reason.name} is not installed; install endotransfer[export].") from None
    from endotransfer.export.graph import RESIZE, wrap
    from endotransfer.export.network import export_network

    facts = {"classes": json.dumps(list(model.classes.names)), "resize": RESIZE, "note": DISCLAIMER}
    network = export_network(model, shape, optimise=optimise)
    return wrap(network, shape, model.classes.names, size, facts)


def write_graph_config(
    out: Path, info: ModelInfo, content: bytes, size: tuple[int, int] | None, check: Check | None,
    weights: str | None = None,
) -> None:  # fmt: skip
    """config.json of the model, and what is to be known of the graph beside it."""
    from endotransfer.export.graph import RESIZE

    facts: dict[str, object] = {
        "file": GRAPH,
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": list(size) if size else None,
        "resize": RESIZE,
        "version": __version__,
        "torch": torch.__version__,
    }
    if weights is not None:
        facts["weights"] = weights
    if check is not None:
        facts["checked"] = {"images": check.images, "sizes": check.sizes, "largest_difference": check.largest}
    write_atomically(out / "config.json", sealed(info.to_json() | {"onnx": facts}), CheckpointError)


def _clear(out: Path, *, remove: bool) -> None:
    """Take away what was written; the folder was empty."""
    for name in (GRAPH, FAMILIARITY, "weights.safetensors", "config.json", "labels.json", "README.md"):
        (out / name).unlink(missing_ok=True)
    if remove:
        out.rmdir()
