"""The network of a run as an ONNX graph, made once and kept: `predict` on a CPU is quicker with it than with torch.

The cache is $ENDOTRANSFER_CACHE/graphs (else ~/.cache/endotransfer/graphs), a folder for each model, named by what is
in the model folder and by the versions that made it.  Deleting any of it is safe at any time: it is made again.
"""

import hashlib
import os
import secrets
import shutil
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from endotransfer import __version__
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.familiarity.familiarity_file import FILE as FAMILIARITY
from endotransfer.familiarity.familiarity_file import familiarity_bytes
from endotransfer.io import LARGEST_WEIGHTS, open_regular, write_atomically
from endotransfer.paths import cache_root
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.load import GraphChoice, Say
from endotransfer.predict.network_graph import FACTS, FIX, GRAPH, GraphFacts, NetworkGraph, read_facts
from endotransfer.predict.onnx_predictor import GRAPH as BUNDLE_GRAPH
from endotransfer.predict.prediction import Pixels
from endotransfer.sealed_json import sealed

WORTHWHILE = 100  # pictures from which an export pays, which takes as long as predicting some hundred
MOST_GRAPHS = 16  # kept; the least recently used go first
PACKAGES = ("torch", "onnx", "onnxruntime", "onnxscript")
ROUNDS = 3


def choose_graph(run: Path, pictures: int, say: Say, force: bool = False) -> GraphChoice:
    """The folder of a graph that is quicker than torch on this machine's CPU, or None, and in words why.

    One that is not there yet is made where `pictures` are many, or where `force` asks for it.
    """
    missing = [package for package in PACKAGES if not _version(package)]
    if missing:
        return GraphChoice(None, f"{missing[0]} is not installed; endotransfer[export] has it")
    if (run / BUNDLE_GRAPH).is_file():
        return GraphChoice(None, "a bundle brings its own graph")
    model = run / "model" if (run / "model").is_dir() else run
    key = _key(model)
    if key is None:
        return GraphChoice(None, f"{model} holds no model")
    folder = graphs_folder() / key
    facts = _facts(folder)
    if facts is None:
        if pictures < WORTHWHILE and not force:
            return GraphChoice(None, f"{pictures} pictures do not repay an export to ONNX, {WORTHWHILE} would")
        say("exporting the network to ONNX, once, for this prediction and later ones")
        facts = _make(model, folder)
    if facts is None or not facts.quicker:
        why = "no graph could be kept" if facts is None else facts.refused
        return GraphChoice(None, why or "ONNX Runtime was not faster on this machine")
    with suppress(OSError):
        os.utime(folder)
    times = facts.torch_seconds / max(facts.seconds, 1e-9)
    why = f"{times:.1f} times as fast as torch when its graph was made, within {facts.difference:.0e} in probability"
    return GraphChoice(folder, why)


def graphs_folder() -> Path:
    return cache_root() / "graphs"


def _key(model: Path) -> str | None:
    """All that a graph depends on; None where there is no model to read, or one that cannot be opened anyway."""
    name = hashlib.sha256(repr((__version__, *map(_version, PACKAGES))).encode())
    try:
        for file in ("config.json", "weights.safetensors"):
            with open_regular(model / file) as content:
                if os.fstat(content.fileno()).st_size > LARGEST_WEIGHTS:
                    return None
                name.update(hashlib.file_digest(content, "sha256").digest())
    except OSError:
        return None
    return name.hexdigest()[:32]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _facts(folder: Path) -> GraphFacts | None:
    """What is cached; None where nothing is, or something that is not whole any more, which is removed."""
    if not folder.is_dir():
        return None
    try:
        facts = read_facts(folder)
        if not facts.refused and not _is_graph(folder / GRAPH, facts.sha256):
            raise CheckpointError(f"{folder} has no graph, or a damaged one.")
        return facts
    except CheckpointError:
        shutil.rmtree(folder, ignore_errors=True)
        return None


def _is_graph(path: Path, digest: str) -> bool:
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _make(model: Path, folder: Path) -> GraphFacts | None:
    """Export, compare with torch, time both; the folder appears whole.

    None where the disk takes nothing, where the model cannot be opened (torch says why), or was exchanged meanwhile:
    its graph would go by the name of the one before.
    """
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        facts = _export(model, part)
        write_atomically(part / FACTS, sealed(facts.model_dump(mode="json")), CheckpointError)
        if _key(model) != folder.name:
            return None
        with suppress(OSError):  # another process was first: its graph is as good
            part.rename(folder)
        _forget_old(folder.parent)
        return facts if folder.is_dir() else None
    except (OSError, CheckpointError):
        return None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _export(model: Path, part: Path) -> GraphFacts:
    import torch

    from endotransfer.engine.model_folder import load_model
    from endotransfer.export.check import check_against_torch, phantoms
    from endotransfer.export.network import export_network
    from endotransfer.predict.predictor import Predictor

    trained = load_model(model)
    shape = trained.geometry.size
    if shape is None or trained.geometry.window is not None:
        return GraphFacts(refused="the model looks at images at their own size or through windows")
    try:
        content = bytes(export_network(trained, shape).SerializeToString())
    except ConfigError as reason:
        return GraphFacts(refused=str(reason).partition(";")[0])
    write_atomically(part / GRAPH, content, CheckpointError)
    info = trained.info.familiarity
    if info is not None:
        write_atomically(part / FAMILIARITY, familiarity_bytes(model, info, FIX), CheckpointError)
    facts = GraphFacts(
        classes=list(trained.classes.names), size=shape, sha256=hashlib.sha256(content).hexdigest(), torch_seconds=1.0,
        familiarity=info,
    )  # fmt: skip
    write_atomically(part / FACTS, sealed(facts.model_dump(mode="json")), CheckpointError)
    ours, rival = NetworkGraph(part), Predictor(trained, torch.device("cpu"))
    try:
        difference = check_against_torch(ours, rival, shape).largest
    except CheckpointError as reason:
        return GraphFacts(refused=str(reason).partition(";")[0])
    (image,) = phantoms([(2 * shape[0], 2 * shape[1])], each=1)
    rounds = [[_seconds(one, image) for one in (ours, rival)] for _ in range(ROUNDS)]
    seconds, torch_seconds = (min(times) for times in zip(*rounds, strict=True))
    return facts.model_copy(update={"difference": difference, "seconds": seconds, "torch_seconds": torch_seconds})


def _seconds(predictor: ImagePredictor, image: Pixels) -> float:
    began = time.perf_counter()
    predictor.mark_batch([image])
    return time.perf_counter() - began


def _forget_old(folder: Path) -> None:
    """Keep the graphs that were used last; what a killed process left half made goes after a day."""
    with suppress(OSError):
        for left in folder.glob(".*.part"):
            if time.time() - left.stat().st_mtime > 86_400:
                shutil.rmtree(left, ignore_errors=True)
        kept = sorted(
            (one for one in folder.iterdir() if not one.name.startswith(".")), key=lambda one: one.stat().st_mtime
        )
        for old in kept[:-MOST_GRAPHS]:
            shutil.rmtree(old, ignore_errors=True)
