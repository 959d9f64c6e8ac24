"""What belongs together in an image, as the image encoder of SAM 2 sees it: it was taught to find whole objects.

It knows no lesion and no tag.  Its features say which places are of one piece, and local scores follow them
(pseudo_labels/region_walk.py).
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn.functional import interpolate

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.backbones.backbone import Backbone, build_backbone
from endotransfer.models.backbones.on_backbone import OnBackbone
from endotransfer.models.pyramid import at_size

TRUNK, NAME = "sam2_hiera_tiny", "SAM 2's tiny image encoder"
STRIDE = 16  # of the features; an image is resized so that they have a place for each local score
NECK = "image_encoder.neck.convs.{}.conv.{}"  # 0 belongs to the deepest map
CHANNELS = 256


class RegionEncoder(OnBackbone):
    """Images [B, 3, H, W] -> features [B, 256, h, w] of every place of a grid; it is never trained."""

    def __init__(self, weights: Path) -> None:
        super().__init__(_trunk(weights))
        *_, middle, deep = self.backbone.stages
        self.neck = nn.ModuleList([nn.Conv2d(deep, CHANNELS, 1), nn.Conv2d(middle, CHANNELS, 1)])
        _fill(self.neck, weights)
        self.requires_grad_(False)

    def train(self, mode: bool = True) -> "RegionEncoder":
        return super().train(False)

    @torch.no_grad()
    def forward(self, images: Tensor, grid: Sequence[int]) -> Tensor:
        """The map of 1/16, to which that of 1/32 is added, as SAM 2's neck does; `grid` = (h, w)."""
        *_, middle, deep = self.stages(at_size(images, [STRIDE * side for side in grid]))
        of_deep, of_middle = (part(one) for part, one in zip(self.neck, (deep, middle), strict=True))
        return at_size((of_middle + interpolate(of_deep, size=middle.shape[-2:])).float(), grid)


def _trunk(weights: Path) -> Backbone:
    try:
        return build_backbone(TRUNK, pretrained=True, weights=weights, pyramid=True)
    except (ConfigError, CheckpointError) as reason:  # in the words of the segmenter's backbone
        sentence = str(reason).replace("model.weights", "model.region_weights", 1)
        raise type(reason)(sentence.replace("a file for this backbone", f"a file of {NAME}")) from reason


def _fill(neck: nn.ModuleList, weights: Path) -> None:
    with safe_open(weights, framework="pt") as file, torch.no_grad():
        held = {*file.keys()}
        for number, part in enumerate(neck):
            for name, value in part.named_parameters():
                key = NECK.format(number, name)
                if key not in held or file.get_slice(key).get_shape() != [*value.shape]:
                    raise ConfigError(f"model.region_weights: {weights} lacks '{key}'; choose a file of {NAME}.")
                value.copy_(file.get_tensor(key))
