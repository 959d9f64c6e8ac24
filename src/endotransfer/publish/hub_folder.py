"""The folder that a hub takes: weights, config.json, results.json, card and pictures; no path of this machine in it."""

import json
import shutil
from pathlib import Path

from endotransfer.data.folders.listing import printable
from endotransfer.engine.model_info import ModelInfo
from endotransfer.engine.read_model import COPY_AGAIN, read_model_info, read_model_weights
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.familiarity.familiarity_file import FILE as FAMILIARITY
from endotransfer.familiarity.familiarity_file import familiarity_bytes
from endotransfer.io import read_bounded, write_atomically
from endotransfer.publish.half_weights import as_file, halved
from endotransfer.publish.hub_card import hub_card
from endotransfer.publish.publication import Publication
from endotransfer.publish.slim_graph import add_graph
from endotransfer.publish.without_folders import values_without_folders
from endotransfer.results import Results
from endotransfer.sealed_json import sealed


def write_hub_folder(run: Path, out: Path, asked: Publication) -> Path:
    """Write the model of `run` (a run or a model folder) to `out`, which must be new or empty; returns `out`."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not an empty folder; choose another, nothing is overwritten.")
    folder = run / "model" if (run / "model").is_dir() else run
    info = read_model_info(folder)
    weights = read_model_weights(folder / "weights.safetensors", info.sha256)
    content, digest = as_file(halved(weights) if asked.half else weights)
    own = Results.read_if_whole(run / "results.json")
    results = [Results.read(path) for path in asked.results] or ([own] if own else [])
    pictures = {path.name: asked.picture_bytes(path) for path in asked.pictures}
    usual = None if info.familiarity is None else familiarity_bytes(folder, info.familiarity, COPY_AGAIN)
    info = _without_paths(info.model_copy(update={"sha256": digest, "onnx": None}))
    card = hub_card(_card_of(folder), info, results, asked, own.temperature if own else None)
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        write_atomically(out / "weights.safetensors", content, CheckpointError)
        if usual is not None:
            write_atomically(out / FAMILIARITY, usual, CheckpointError)
        write_atomically(out / "config.json", sealed(info.to_json()), CheckpointError)
        for name, picture in pictures.items():
            write_atomically(out / name, picture, CheckpointError)
        if results:
            text = json.dumps([values_without_folders(one.to_dict()) for one in results], indent=1)
            write_atomically(out / "measured.json", text, CheckpointError)
        write_atomically(out / "README.md", card, CheckpointError)
        if asked.graph:
            add_graph(out)
    except BaseException:
        _clear(out, remove=new)
        raise
    return out


def _without_paths(info: ModelInfo) -> ModelInfo:
    raw = values_without_folders(info.to_json())
    return ModelInfo.model_validate(raw)


def _card_of(folder: Path) -> str:
    try:
        return read_bounded(folder / "README.md", CheckpointError).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return f"# {printable(folder.resolve().name)}\n"


def _clear(out: Path, *, remove: bool) -> None:
    """Take away what was written; the folder was empty."""
    for entry in out.iterdir():
        entry.unlink()
    if remove:
        shutil.rmtree(out)
