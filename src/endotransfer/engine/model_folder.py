"""`model/`: what is left when training is over.  Weights, what they need to run, and a card that says what they are."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.data.classes import Classes
from endotransfer.engine.checkpoint import load_weights_into
from endotransfer.engine.model_card import model_card
from endotransfer.errors import CheckpointError
from endotransfer.files import write_atomically
from endotransfer.methods import World, method_config
from endotransfer.methods.base import Method

FORMAT = 1


@dataclass(frozen=True)
class TrainedModel:
    """A module that predicts, with all that its user must know."""

    module: nn.Module
    classes: Classes
    shape: tuple[int, int]
    domain: str
    info: dict[str, Any]

    def __call__(self, images: torch.Tensor) -> SegOutput:
        """`images` [B, 3, H, W] in [0, 1] at `shape` -> output."""
        return self.module(images, domain=self.domain)


def save_model(
    folder: Path, method: Method, classes: Classes, shape: tuple[int, int], settings: dict[str, Any],
    results: dict[str, Any], data: dict[str, Any],
) -> None:  # fmt: skip
    """Write the method's predictor.  `settings`: the experiment's `method` section, resolved."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in method.predictor().state_dict().items()}
    file = folder / "weights.safetensors"
    write_atomically(file, lambda path: save_file(weights, path), CheckpointError)
    info = {
        "format": FORMAT,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "classes": list(classes.names),
        "ignore": classes.ignore,
        "shape": list(shape),
        "tags": method.world.tags,
        "domain": method.predict_as,
        "method": settings,
        "model": method.world.model.model_dump(mode="json"),
    }
    write_atomically(folder / "config.json", json.dumps(info, indent=2), CheckpointError)
    write_atomically(folder / "README.md", model_card(info, results, data), CheckpointError)


def load_model(run: Path, device: str | torch.device = "cpu") -> TrainedModel:
    """Load `RUN/model` (or a model folder itself), verified against its checksum."""
    folder = run / "model" if (run / "model").is_dir() else run
    info = _read_info(folder)
    classes = Classes(tuple(info["classes"]), info["ignore"])
    cls, _, config = method_config(info["method"])
    # The backbone's own weights are about to be replaced, so none are fetched.
    model = ModelConfig.model_validate({**info["model"], "pretrained": False, "weights": None})
    method = cls(World(len(classes.names), info["tags"], model, epochs=1, trained=True), config)
    module = method.predictor()
    load_weights_into(module, _read_weights(folder / "weights.safetensors", info["sha256"]), folder)
    module.to(device).eval().requires_grad_(False)
    return TrainedModel(module, classes, (info["shape"][0], info["shape"][1]), info["domain"], info)


def _read_info(folder: Path) -> dict[str, Any]:
    try:
        info = json.loads((folder / "config.json").read_text())
    except FileNotFoundError:
        raise CheckpointError(f"{folder} holds no trained model; train one, or give the folder of a run.") from None
    except (OSError, ValueError) as reason:
        raise CheckpointError(f"{folder / 'config.json'} is damaged ({reason}); copy the model again.") from None
    if info.get("format") != FORMAT:
        raise CheckpointError(
            f"{folder} was written by another version (format {info.get('format')}); update endotransfer."
        )
    return info


def _read_weights(path: Path, digest: str) -> dict[str, torch.Tensor]:
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise CheckpointError(f"{path} is damaged (its checksum differs); copy the model again.")
        return load_file(path)
    except (OSError, SafetensorError) as reason:
        raise CheckpointError(f"cannot read {path}: {reason}; copy the model again.") from None
