"""`model/`: what is left when training is over.  Weights, what they need to run, and a card that says what they are."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import BaseModel, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from endotransfer.batch import IGNORE, SegOutput
from endotransfer.config import LARGEST_SEED, ModelConfig, explain
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.checkpoint import load_weights_into
from endotransfer.engine.model_card import model_card
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.inference import InferenceGeometry
from endotransfer.io import write_atomically
from endotransfer.methods import TaskInfo, method_config
from endotransfer.methods.base import Method

FORMAT = 1
Side = Annotated[int, Field(ge=1)]


class _Info(BaseModel):
    """What config.json must hold for a model to be rebuilt."""

    sha256: str
    classes: list[str] = Field(min_length=2, max_length=IGNORE)
    ignore: int
    shape: tuple[Side, Side]
    tags: bool
    domain: Literal["source", "target"]
    method: dict[str, Any]
    model: ModelConfig
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    geometry: InferenceGeometry | None = None  # None: the whole image at `shape`


@dataclass(frozen=True)
class TrainedModel:
    """A module that predicts, with all that its user must know."""

    module: nn.Module
    classes: Classes
    shape: tuple[int, int]
    domain: str
    info: dict[str, Any]
    geometry: InferenceGeometry  # how it is measured

    def __call__(self, images: torch.Tensor) -> SegOutput:
        """`images` [B, 3, H, W] in [0, 1] at `shape` -> output."""
        return self.module(images, domain=self.domain)


def save_model(
    folder: Path, method: Method, classes: Classes, shape: tuple[int, int], settings: dict[str, Any],
    results: dict[str, Any], data: dict[str, Any], geometry: InferenceGeometry | None = None,
) -> None:  # fmt: skip
    """Write the method's predictor.  `settings`: the experiment's `method` section, resolved."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in method.predictor().state_dict().items()}
    content = save(weights)  # bytes, not a file: only then is a full disk told like any other
    write_atomically(folder / "weights.safetensors", content, CheckpointError)
    info = {
        "format": FORMAT,
        "sha256": hashlib.sha256(content).hexdigest(),
        "classes": list(classes.names),
        "ignore": classes.ignore,
        "shape": list(shape),
        "tags": method.task.tags,
        "domain": method.predict_as,
        "seed": results["seed"],
        "method": settings,
        "model": method.task.model.model_dump(mode="json"),
        "geometry": asdict(geometry or InferenceGeometry(shape)),
    }
    write_atomically(folder / "config.json", json.dumps(info, indent=2), CheckpointError)
    write_atomically(folder / "README.md", model_card(info, results, data), CheckpointError)


def load_model(run: Path, device: str | torch.device = "cpu") -> TrainedModel:
    """Load `RUN/model` (or a model folder itself), verified against its checksum."""
    folder = run / "model" if (run / "model").is_dir() else run
    raw = _read_json(folder)
    info, module = _rebuild(folder / "config.json", raw)
    load_weights_into(module, _read_weights(folder / "weights.safetensors", info.sha256), folder)
    module.to(device).eval().requires_grad_(False)
    classes = Classes(tuple(info.classes), info.ignore)
    return TrainedModel(module, classes, info.shape, info.domain, raw, info.geometry or InferenceGeometry(info.shape))


def _read_json(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{folder} holds no trained model; train one, or give the folder of a run.") from None
    except (OSError, ValueError, RecursionError) as reason:
        raise _damaged(path, reason) from None
    if not isinstance(raw, dict) or "format" not in raw:
        raise _damaged(path, "it describes no model")
    if raw["format"] != FORMAT:
        raise CheckpointError(f"{folder} was written by another version (format {raw['format']}); update endotransfer.")
    return raw


def _rebuild(path: Path, raw: dict[str, Any]) -> tuple[_Info, nn.Module]:
    """The network that config.json describes, its weights still to be filled in."""
    try:
        info = _Info.model_validate(raw)
        cls, _, config = method_config(info.method)
        # The backbone's own weights are about to be replaced, so none are fetched.
        model = info.model.model_copy(update={"pretrained": False, "weights": None})
        method = cls(TaskInfo(len(info.classes), info.tags, model, epochs=1, trained=True), config)
    except ValidationError as reason:
        raise _damaged(path, "; ".join(explain(reason, _Info)).rstrip(".")) from None
    except (ConfigError, RuntimeError, TypeError, ValueError) as reason:  # values that no network can have
        raise _damaged(path, str(reason).rstrip(".")) from None
    return info, method.predictor()


def _damaged(path: Path, reason: object) -> CheckpointError:
    return CheckpointError(f"{path} is damaged ({' '.join(str(reason).split())}); copy the model again.")


def _read_weights(path: Path, digest: str) -> dict[str, torch.Tensor]:
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise CheckpointError(f"{path} is damaged (its checksum differs); copy the model again.")
        return load_file(path)
    except (OSError, SafetensorError) as reason:
        raise CheckpointError(f"cannot read {path}: {reason}; copy the model again.") from None
