"""A file with the names and shapes of SAM 2's tiny image encoder, and random values."""

from pathlib import Path

import timm
import torch
from safetensors.torch import save_file
from torch import nn

from endotransfer.models.region_encoder import NECK, TRUNK


def trunk() -> nn.Module:
    return timm.create_model(TRUNK, features_only=True).eval()


def write_encoder(folder: Path) -> Path:
    torch.manual_seed(0)
    state = {f"trunk.{name.removeprefix('model.')}": value for name, value in trunk().state_dict().items()}
    for number, channels in enumerate((768, 384)):
        state[NECK.format(number, "weight")] = 0.05 * torch.randn(256, channels, 1, 1)
        state[NECK.format(number, "bias")] = torch.randn(256)
    path = folder / "encoder.safetensors"
    save_file(state | {"no_mem_embed": torch.zeros(1, 256, 1)}, path)
    return path
