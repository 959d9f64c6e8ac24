"""`model/`: what is left when training is over.  Weights, what they need to run, and a card that says what they are."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from endotransfer.batch import SegOutput
from endotransfer.config import explain
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.checkpoint import load_weights_into
from endotransfer.engine.model_card import model_card
from endotransfer.engine.model_info import FORMAT, MethodRecord, ModelInfo, Origin
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.inference import InferenceGeometry
from endotransfer.io import write_atomically
from endotransfer.models import segmenters  # noqa: F401  (registers the kinds of network)
from endotransfer.models.network_spec import NETWORKS, package_of, rebuild, saved_network, spec_of
from endotransfer.registry import origin_of
from endotransfer.results import Results

if TYPE_CHECKING:
    from endotransfer.methods import Method  # a model is loaded without any method


@dataclass(frozen=True)
class TrainedModel:
    """A module that predicts, with all that its user must know."""

    module: nn.Module
    classes: Classes
    shape: tuple[int, int]
    domain: str
    info: ModelInfo
    geometry: InferenceGeometry  # how it is measured

    def __call__(self, images: torch.Tensor) -> SegOutput:
        """`images` [B, 3, H, W] in [0, 1] at `shape` -> output."""
        output: SegOutput = self.module(images, domain=self.domain)
        return output


def save_model(
    folder: Path, method: "Method", classes: Classes, shape: tuple[int, int], settings: Mapping[str, object],
    results: Results, data: dict[str, int], geometry: InferenceGeometry | None = None,
) -> None:  # fmt: skip
    """Write the method's predictor.  `settings`: the experiment's `method` section, resolved."""
    predictor = method.predictor()
    network = saved_network(spec_of(predictor, f"method {method.name}"))
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in predictor.state_dict().items()}
    content = save(weights)  # bytes, not a file: only then is a full disk told like any other
    write_atomically(folder / "weights.safetensors", content, CheckpointError)
    info = ModelInfo(
        sha256=hashlib.sha256(content).hexdigest(),
        classes=list(classes.names),
        ignore=classes.ignore,
        shape=shape,
        tags=method.task.tags,
        domain=method.predict_as,
        seed=results.seed,
        geometry=geometry or InferenceGeometry(shape),
        network=network,
        method=MethodRecord.model_validate(settings),
        method_from=Origin(package=package_of(type(method)), module=origin_of(type(method))),
        model=method.task.model.model_dump(mode="json"),
    )
    described = json.dumps(info.model_dump(mode="json"), indent=2)
    write_atomically(folder / "config.json", described, CheckpointError)
    write_atomically(folder / "README.md", model_card(info, results, data), CheckpointError)


def load_model(run: Path, device: str | torch.device = "cpu") -> TrainedModel:
    """Load `RUN/model` (or a model folder itself), verified against its checksum."""
    folder = run / "model" if (run / "model").is_dir() else run
    info = _read_info(folder)
    module = _rebuild(folder / "config.json", info)
    load_weights_into(module, _read_weights(folder / "weights.safetensors", info.sha256), folder)
    module.to(device).eval().requires_grad_(False)
    classes = Classes(tuple(info.classes), info.ignore)
    return TrainedModel(module, classes, info.shape, info.domain, info, info.geometry or InferenceGeometry(info.shape))


def _read_info(folder: Path) -> ModelInfo:
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
        fix = "train it again with this version" if raw["format"] == 1 else "update endotransfer"
        raise CheckpointError(f"{folder} was written by another version (format {raw['format']}); {fix}.")
    try:
        return ModelInfo.model_validate(raw)
    except ValidationError as reason:
        raise _damaged(path, "; ".join(explain(reason, ModelInfo)).rstrip(".")) from None


def _rebuild(path: Path, info: ModelInfo) -> nn.Module:
    """The network that config.json describes, its weights still to be filled in."""
    try:
        return rebuild(info.network)
    except ValidationError as reason:
        spec = NETWORKS.get(info.network.kind)
        raise _damaged(path, "; ".join(explain(reason, spec)).rstrip(".")) from None
    except (ConfigError, RuntimeError, TypeError, ValueError) as reason:  # values that no network can have
        raise _damaged(path, str(reason).rstrip(".")) from None


def _damaged(path: Path, reason: object) -> CheckpointError:
    return CheckpointError(f"{path} is damaged ({' '.join(str(reason).split())}); copy the model again.")


def _read_weights(path: Path, digest: str) -> dict[str, torch.Tensor]:
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise CheckpointError(f"{path} is damaged (its checksum differs); copy the model again.")
        weights: dict[str, torch.Tensor] = load_file(path)
        return weights
    except (OSError, SafetensorError) as reason:
        raise CheckpointError(f"cannot read {path}: {reason}; copy the model again.") from None
