"""`model/`: what is left when training is over.  Weights, what they need to run, and a card that says what they are."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from pydantic import ValidationError
from safetensors.torch import save
from torch import nn

from endotransfer.batch import SegOutput
from endotransfer.config import explain
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.checkpoint import check_fits, load_weights_into
from endotransfer.engine.model_card import model_card
from endotransfer.engine.model_info import MethodRecord, ModelInfo, Origin
from endotransfer.engine.read_model import COPY_AGAIN, damaged, read_model_info, read_model_weights
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.familiarity.familiarity import Familiarity
from endotransfer.familiarity.familiarity_file import FILE as FAMILIARITY
from endotransfer.familiarity.familiarity_file import encode_familiarity, read_familiarity
from endotransfer.inference import InferenceGeometry, with_temperature
from endotransfer.io import write_atomically
from endotransfer.models import segmenters  # noqa: F401  (registers the kinds of network)
from endotransfer.models.network_spec import NETWORKS, package_of, rebuild, saved_network, spec_of
from endotransfer.models.undrawn import build_undrawn, outline_of
from endotransfer.registry import origin_of
from endotransfer.results import Results
from endotransfer.sealed_json import sealed

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
    familiarity: Familiarity | None = None  # None: of an older version, or from too few images

    def __call__(self, images: torch.Tensor) -> SegOutput:
        """`images` [B, 3, H, W] in [0, 1] at `shape` -> output, its logits at the model's temperature."""
        return with_temperature(self.module(images, domain=self.domain), self.info.temperature)


def save_model(
    folder: Path, method: "Method", classes: Classes, shape: tuple[int, int], settings: Mapping[str, object],
    results: Results, data: dict[str, int], geometry: InferenceGeometry | None = None,
    familiarity: Familiarity | None = None,
) -> None:  # fmt: skip
    """Write the method's predictor.  `settings`: the experiment's `method` section, resolved."""
    predictor = method.predictor()
    network = saved_network(spec_of(predictor, f"method {method.name}"))
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.detach().cpu().contiguous() for name, value in predictor.state_dict().items()}
    content = save(weights)  # bytes, not a file: only then is a full disk told like any other
    write_atomically(folder / "weights.safetensors", content, CheckpointError)
    usual, described = (None, None) if familiarity is None else encode_familiarity(familiarity)
    if usual is not None:
        write_atomically(folder / FAMILIARITY, usual, CheckpointError)
    info = ModelInfo(
        sha256=hashlib.sha256(content).hexdigest(),
        classes=list(classes.names),
        ignore=classes.ignore,
        shape=shape,
        tags=method.task.tags,
        domain=method.predict_as,
        seed=results.seed,
        geometry=geometry or InferenceGeometry(shape),
        temperature=results.temperature.value if results.temperature else 1.0,
        familiarity=described,
        network=network,
        method=MethodRecord.model_validate(settings),
        method_from=Origin(package=package_of(type(method)), module=origin_of(type(method))),
        model=method.task.model.model_dump(mode="json"),
    )
    write_atomically(folder / "config.json", sealed(info.to_json()), CheckpointError)
    write_atomically(folder / "README.md", model_card(info, results, data), CheckpointError)


def load_model(run: Path, device: str | torch.device = "cpu") -> TrainedModel:
    """Load `RUN/model` (or a model folder itself), verified against its checksums."""
    folder = run / "model" if (run / "model").is_dir() else run
    info = read_model_info(folder)
    weights = read_model_weights(folder / "weights.safetensors", info.sha256)
    module = _rebuild(folder, info, weights)
    module.to(device).eval().requires_grad_(False)
    classes = Classes(tuple(info.classes), info.ignore)
    familiarity = read_familiarity(folder, info.familiarity, COPY_AGAIN) if info.familiarity else None
    geometry = info.geometry or InferenceGeometry(info.shape)
    return TrainedModel(module, classes, info.shape, info.domain, info, geometry, familiarity)


def _rebuild(folder: Path, info: ModelInfo, weights: dict[str, torch.Tensor]) -> nn.Module:
    """The network that config.json describes; its outline is compared with the weights before it takes any memory."""
    path = folder / "config.json"

    def build() -> nn.Module:
        try:
            return rebuild(info.network)
        except ValidationError as reason:
            spec = NETWORKS.get(info.network.kind)
            raise damaged(path, "; ".join(explain(reason, spec)).rstrip(".")) from None
        except (ConfigError, ArithmeticError, TypeError, ValueError, LookupError, AssertionError) as reason:
            raise damaged(path, str(reason).rstrip(".")) from None  # values that no network can have

    if (outline := outline_of(build)) is not None:
        check_fits(outline, weights, folder)
    try:
        module = build_undrawn(build)
    except (RuntimeError, MemoryError) as reason:
        raise damaged(path, str(reason).rstrip(".")) from None
    load_weights_into(module, weights, folder)
    return module
