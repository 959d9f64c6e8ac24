"""Checkpoints, model folders and texts of people, damaged: refused in a sentence, or what they were before."""

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from torch import nn
from torch.optim import Adam

from endotransfer.compare.image_counts import counts_of_run
from endotransfer.config import read_experiment
from endotransfer.data.folders.classes import read_classes
from endotransfer.data.folders.labels_csv import read_labels
from endotransfer.engine.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from endotransfer.engine.model_folder import load_model
from endotransfer.engine.optimiser_state import pack_optimiser
from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.training_state import restore_training
from endotransfer.familiarity.familiarity_file import FILE as FAMILIARITY
from endotransfer.familiarity.familiarity_file import encode_familiarity
from endotransfer.results import Results
from endotransfer.sealed_json import sealed
from fuzz.mutations import damaged_bytes, damaged_json
from fuzz.outcome import FuzzOutcome
from tests.model_folders import write_model


def same_tensors(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(value, two[name]) for name, value in one.items())


def tiny() -> tuple[Any, Adam]:
    """A network that has taken a step, and its optimiser."""
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    optimiser = Adam(net.parameters(), lr=0.1)
    net(torch.ones(1, 3)).sum().backward()
    optimiser.step()
    return net, optimiser


def tiny_state() -> tuple[dict[str, dict[str, torch.Tensor]], dict[str, Any]]:
    net, optimiser = tiny()
    tensors, packed = pack_optimiser(optimiser)
    groups = {"weights": dict(net.state_dict()), "optimiser-net": tensors}
    return groups, {"step": 3, "steps": 9, "data": "contents 0", "optimisers": {"net": packed}}


def damage_checkpoints(folder: Path, count: int, draw: random.Random) -> FuzzOutcome:
    """Any byte of any file of a checkpoint."""
    outcome = FuzzOutcome("checkpoints")
    groups, state = tiny_state()
    path = save_checkpoint(folder / "checkpoints", 3, groups, state)
    whole = load_checkpoint(path)
    files = {file: file.read_bytes() for file in sorted(path.iterdir())}

    def unchanged(found: Any) -> bool:
        same = found.step == whole.step and found.state == whole.state
        return same and all(same_tensors(found.tensors[group], whole.tensors[group]) for group in whole.tensors)

    for number in range(count):
        file = draw.choice(list(files))
        file.write_bytes(damaged_bytes(files[file], draw))
        outcome.attempt(f"checkpoint {number}", lambda: load_checkpoint(path), unchanged)
        file.write_bytes(files[file])
    return outcome


def damage_states(folder: Path, count: int, draw: random.Random) -> FuzzOutcome:
    """State that was changed and sealed again: refused, or a step can be taken with it."""
    outcome = FuzzOutcome("resealed states")
    groups, state = tiny_state()
    for number in range(count):
        net, optimiser = tiny()
        changed = damaged_json(state, draw)

        def go_on(net: Any = net, optimiser: Adam = optimiser, changed: Any = changed) -> bool:
            checkpoint = Checkpoint(3, groups, changed, folder)
            run = RunFolder(folder)
            restore_training(checkpoint, run, net, {"net": optimiser}, steps=9, data="contents 0")
            optimiser.step()
            return all(bool(value.isfinite().all()) for value in net.parameters())

        outcome.attempt(f"state {number}", go_on, bool)
    return outcome


def damage_models(folder: Path, count: int, resealed: int, draw: random.Random) -> FuzzOutcome:
    """Any byte of a model folder; and `resealed` times a config.json whose checksum was made to fit."""
    outcome = FuzzOutcome("model folders")
    write_model(folder)
    before = load_model(folder)
    weights, config = before.module.state_dict(), json.loads((folder / "config.json").read_text())
    files = {
        folder / name: (folder / name).read_bytes() for name in ("config.json", "weights.safetensors", FAMILIARITY)
    }

    def unchanged(found: Any) -> bool:
        described = found.info.model_copy(update={"checksum": before.info.checksum})
        same = described == before.info and same_tensors(found.module.state_dict(), weights)
        return same and encode_familiarity(found.familiarity)[0] == files[folder / FAMILIARITY]

    for number in range(count):
        file = draw.choice(list(files))
        file.write_bytes(damaged_bytes(files[file], draw))
        outcome.attempt(f"model {number}", lambda: load_model(folder), unchanged)
        file.write_bytes(files[file])
    for number in range(resealed):
        (folder / "config.json").write_text(sealed(damaged_json(config, draw)))
        outcome.attempt(f"resealed model {number}", lambda: load_model(folder), lambda found: True)
    for file, content in files.items():
        file.write_bytes(content)
    _damage_headers(outcome, folder, "weights.safetensors", resealed // 4, draw)
    for file, content in files.items():
        file.write_bytes(content)
    _damage_headers(outcome, folder, FAMILIARITY, resealed // 2, draw)
    return outcome


def _damage_headers(outcome: FuzzOutcome, folder: Path, name: str, count: int, draw: random.Random) -> None:
    """Tensors that were damaged and whose digest was made to fit; what loads must still judge a picture."""
    path, picture = folder / name, np.zeros((8, 8, 3), np.uint8)
    whole, config = path.read_bytes(), json.loads((folder / "config.json").read_text())

    def judges(found: Any) -> bool:
        return bool(found.familiarity.assess(picture, found.familiarity.features.mean).score >= 0)

    for number in range(count):
        content = damaged_bytes(whole[:3000], draw) + whole[3000:]
        path.write_bytes(content)
        digest = {"sha256": hashlib.sha256(content).hexdigest()}
        changed = digest if name != FAMILIARITY else {"familiarity": {**config["familiarity"], **digest}}
        (folder / "config.json").write_text(sealed({**config, **changed}))
        outcome.attempt(f"resealed {name} {number}", lambda: load_model(folder), judges)


EXPERIMENT = {
    "data": {"source": "a", "target": ["b", {"path": "c", "split": "train"}], "size": [64, 96]},
    "model": {"backbone": "resnet18", "aspp_rates": [6, 12]}, "method": {"name": "tag_transfer", "preset": "default"},
    "training": {"epochs": 3, "lr": 0.001, "augment": {"scale": [0.7, 1.5]}}, "seed": 3,
}  # fmt: skip
RESULTS = {
    "method": "lta", "preset": "multi", "seed": 1, "classes": ["normal", "lesion"], "images": 2, "miou": 50.0,
    "iou": {"normal": 60.0, "lesion": 40.0}, "iou_lesion": 40.0, "intervals": {"level": 95.0, "miou": [40.0, 60.0]},
    "by_finding": {"polyp": {"images": 1, "miou": 3.0}}, "cost": {"seconds": 3.0, "steps": 9}, "remarks": ["a"],
}  # fmt: skip
SCORES = [
    {"key": f"f/{n}", "matrix": [[5, 1], [2, n]], "group": "", "finding": "", "tag": 1, "lesion_probability": 0.5,
     "lesions": [1, 1, 0]} for n in range(3)
]  # fmt: skip
LABELS = "image,label,split,patient\na,lesion,train,1\nb,normal,test,2\n"


def damage_texts(folder: Path, count: int, draw: random.Random) -> FuzzOutcome:
    """Experiments, classes, tables, results: by their bytes and by their values."""
    outcome = FuzzOutcome("texts and results")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(RESULTS))
    (folder / "scores.json").write_text(json.dumps(SCORES))
    classes = {"classes": ["normal", "polyp", "ulcer"], "ignore": 255}
    kinds: list[tuple[str, Any, Callable[[], object]]] = [
        ("experiment.yaml", EXPERIMENT, lambda: read_experiment(folder / "experiment.yaml")),
        ("classes.yaml", classes, lambda: read_classes(folder)),
        ("results.json", RESULTS, lambda: Results.read(folder / "results.json").to_dict()),
        ("scores.json", SCORES, lambda: counts_of_run(folder)),
        ("labels.csv", None, lambda: read_labels(folder / "labels.csv")),
    ]
    for number in range(count):
        name, tree, read = draw.choice(kinds)
        changed = tree if tree is None or draw.random() < 0.3 else damaged_json(tree, draw)
        text = LABELS if changed is None else yaml.safe_dump(changed) if name.endswith("yaml") else json.dumps(changed)
        content = text.encode(errors="surrogatepass")
        (folder / name).write_bytes(damaged_bytes(content, draw) if changed is tree else content)
        outcome.attempt(f"{name} {number}", read, lambda found: True)
        (folder / name).write_text(LABELS if tree is None else json.dumps(tree))  # JSON is YAML
    return outcome


def fuzz_files(folder: Path, share: float, draw: random.Random) -> list[FuzzOutcome]:
    """At `share` 1: more than ten thousand damaged checkpoints and model folders."""
    outcomes = [
        damage_checkpoints(folder / "a", round(4000 * share), draw),
        damage_states(folder / "b", round(3000 * share), draw),
        damage_models(folder / "c", round(3000 * share), round(400 * share), draw),
        damage_texts(folder / "d", round(3000 * share), draw),
    ]
    shutil.rmtree(folder, ignore_errors=True)
    return outcomes
