"""SAM 2's image encoder as the graph that `serve --prompt-model` wants, from weights in a safetensors file.

`python -m perf.sam2_encoder WEIGHTS OUT.onnx [--backbone sam2_hiera_tiny]`, from the root of the repository, with
`endotransfer[export]`.  Names in WEIGHTS are SAM 2's own: `image_encoder.trunk.*` (or timm's, under `trunk.`),
`image_encoder.neck.convs.*`, `sam_mask_decoder.conv_s0` and `conv_s1`, `no_mem_embed`.
"""

import argparse
import re
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.predict.prompts.prompt_model import EMBEDDING, SIDE

WIDTH = 256
PARTS = ("trunk.", "neck.", "conv_s", "no_mem_embed")
NAMES = {  # patterns of SAM 2 and what they become
    r"^(image_encoder\.)?trunk\.": "trunk.model.",
    r"\.mlp\.layers\.0\.": ".mlp.fc1.",
    r"\.mlp\.layers\.1\.": ".mlp.fc2.",
    r"^image_encoder\.neck\.convs\.(\d)\.conv\.": r"neck.\1.",
    r"^sam_mask_decoder\.(conv_s\d)": r"\1",
}


class Encoder(nn.Module):
    """Image [1, 3, 1024, 1024] -> `image_embed`, `high_res_feats_0`, `high_res_feats_1`.

    The neck brings every stage to 256 channels; the coarsest is added to the next (nearest neighbour) and dropped.  The
    two finest go through the decoder's own 1x1 convolutions, and the embedding says that there is no video before it.
    """

    def __init__(self, backbone: str) -> None:
        super().__init__()
        trunk: Any = timm.create_model(backbone, features_only=True)
        channels = trunk.feature_info.channels()
        self.trunk = trunk
        self.neck = nn.ModuleList([nn.Conv2d(one, WIDTH, 1) for one in reversed(channels)])
        self.conv_s0, self.conv_s1 = nn.Conv2d(WIDTH, WIDTH // 8, 1), nn.Conv2d(WIDTH, WIDTH // 4, 1)
        self.no_mem_embed = nn.Parameter(torch.zeros(1, WIDTH, 1, 1))

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        fine, middle, coarse, coarsest = self.trunk(image)
        lowest, low, high, highest = (
            layer(part) for layer, part in zip(self.neck, (coarsest, coarse, middle, fine), strict=True)
        )
        low = low + interpolate(lowest, scale_factor=2.0, mode="nearest")
        return low + self.no_mem_embed, self.conv_s0(highest), self.conv_s1(high)


def own_names(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """SAM 2's names -> those of `Encoder`, in float32; what belongs to the decoder or to videos is left out."""
    found = {}
    for name, value in weights.items():
        for old, new in NAMES.items():
            name = re.sub(old, new, name)
        if name.startswith(PARTS):
            found[name] = value.float().reshape(1, WIDTH, 1, 1) if name == "no_mem_embed" else value.float()
    return found


def main(weights: Path, out: Path, backbone: str) -> None:
    encoder = Encoder(backbone).eval()
    encoder.load_state_dict(own_names(load_file(weights)))
    image = torch.zeros(1, 3, SIDE, SIDE)
    program = torch.onnx.export(
        encoder, (image,), input_names=["image"], output_names=list(EMBEDDING), dynamo=True, verbose=False
    )
    assert program is not None
    program.save(out, external_data=False)
    print(f"{out}: {out.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--backbone", default="sam2_hiera_tiny")
    asked = parser.parse_args()
    main(asked.weights, asked.out, asked.backbone)
