"""The files of a model folder, read within limits and checked before anything is made of them."""

import hashlib
import sys
from pathlib import Path

import safetensors.torch
import torch
from pydantic import ValidationError
from safetensors import SafetensorError

from endotransfer.config import explain
from endotransfer.engine.checkpoint import not_finite
from endotransfer.engine.model_info import FORMAT, ModelInfo
from endotransfer.errors import CheckpointError, shortened, shown
from endotransfer.io import LARGEST_TEXT, LARGEST_WEIGHTS, read_bounded, read_json
from endotransfer.sealed_json import is_intact

COPY_AGAIN = "copy the model again"


def read_model_info(folder: Path) -> ModelInfo:
    """config.json of a model folder, which must be what was sealed; an older one without a checksum gets a note."""
    path = folder / "config.json"
    if not path.exists():
        raise CheckpointError(f"{folder} holds no trained model; train one, or give the folder of a run.")
    raw = read_json(path, CheckpointError, COPY_AGAIN, LARGEST_TEXT)
    if not isinstance(raw, dict) or "format" not in raw:
        raise damaged(path, "it describes no model")
    if raw["format"] != FORMAT:
        fix = "train it again with this version" if raw["format"] == 1 else "update endotransfer"
        raise CheckpointError(f"{folder} was written by another version (format {shown(raw['format'])}); {fix}.")
    intact = is_intact(raw)
    if intact is False:
        raise damaged(path, "its checksum differs")
    try:
        info = ModelInfo.model_validate(raw)
    except ValidationError as reason:
        raise damaged(path, "; ".join(explain(reason, ModelInfo)).rstrip(".")) from None
    if intact is None:
        print(f"note: {path} has no checksum (an older version wrote it), so damage to it would go unseen.",
              file=sys.stderr)  # fmt: skip
    return info


def read_model_weights(path: Path, digest: str) -> dict[str, torch.Tensor]:
    """The weights whose bytes have this digest; hashed and parsed from one reading, so that nothing comes between."""
    try:
        content = read_bounded(path, CheckpointError, COPY_AGAIN, LARGEST_WEIGHTS)
    except FileNotFoundError:
        raise CheckpointError(f"there is no {path}; {COPY_AGAIN}.") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise damaged(path, "its checksum differs")
    try:
        weights: dict[str, torch.Tensor] = safetensors.torch.load(content)
    except (SafetensorError, ValueError, KeyError, RuntimeError, TypeError) as reason:
        raise damaged(path, reason) from None
    if broken := not_finite(weights):
        raise damaged(path, f"{shown(broken[0])} holds values that are not finite")
    return weights


def damaged(path: Path, reason: object) -> CheckpointError:
    why = shortened(" ".join(str(reason).split()), 600)
    return CheckpointError(f"{path} is damaged ({why}); {COPY_AGAIN}.")
