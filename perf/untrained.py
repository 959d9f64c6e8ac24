"""Random weights in a file: speed and memory do not depend on their values, so none are fetched."""

from pathlib import Path

import timm
from safetensors.torch import save_file


def untrained_weights(backbone: str, folder: Path) -> Path:
    path = folder / f"{backbone}.safetensors"
    save_file(timm.create_model(backbone, features_only=True, output_stride=8).state_dict(), path)
    return path
