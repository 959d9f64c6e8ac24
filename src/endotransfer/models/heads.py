"""What stands on the backbone: S1 (image tag), ASPP (the body of S2), and the refinement of S2 by S1."""

import torch
from torch import Tensor, nn

from endotransfer.models.backbones.normalisation import head_norm


class TagHead(nn.Module):
    """S1: features [B, C, h, w] -> logits [B, tags] of normal and lesion, by mean over the map and one layer."""

    # PAPER: S1's layers are not given.
    def __init__(self, channels: int, tags: int = 2) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, tags)

    def forward(self, features: Tensor) -> Tensor:
        tag_logits: Tensor = self.linear(features.mean(dim=(2, 3)))
        return tag_logits


class ASPP(nn.Module):
    """Atrous spatial pyramid pooling of DeepLab-v3: [B, in, h, w] -> [B, out, h, w].

    Views side by side (1x1, a dilated 3x3 for each of `rates`, the image's mean), fused by a 1x1 convolution.
    """

    # PAPER: the rates are not given; 12, 24, 36 are DeepLab-v3's at output stride 8.
    def __init__(
        self,
        in_channels: int,
        out_channels: int = 256,
        rates: tuple[int, ...] = (12, 24, 36),
        norm: str = "group",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.channels = out_channels
        dilated = [_layer(in_channels, out_channels, norm, dilation=rate) for rate in rates]
        self.views = nn.ModuleList([_layer(in_channels, out_channels, norm), *dilated])
        self.whole_image = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            # One value a channel is left: only statistics over the channels exist whatever the batch.
            nn.GroupNorm(1, out_channels),
            nn.ReLU(inplace=True),
        )
        self.fuse = _layer((len(rates) + 2) * out_channels, out_channels, norm)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        whole = self.whole_image(features).expand(-1, -1, *features.shape[2:])
        fused: Tensor = self.dropout(self.fuse(torch.cat([*(view(features) for view in self.views), whole], dim=1)))
        return fused


class Refinement(nn.Module):
    """S2's logits [B, K, h, w] refined by S1's [B, tags]: its softmax spread over the map, a 1x1 convolution.

    It starts as the identity on the logits, blind to the tags: S1 steps in only as far as training asks.
    """

    # PAPER: "via convolution" is all that is said.
    def __init__(self, classes: int, tags: int = 2) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(classes + tags, classes, 1)
        with torch.no_grad():
            self.convolution.weight.copy_(torch.eye(classes, classes + tags)[:, :, None, None])
            self.convolution.bias.zero_()  # type: ignore[union-attr]

    def forward(self, logits: Tensor, tag_logits: Tensor) -> Tensor:
        tags = tag_logits.softmax(dim=1).to(logits.dtype)[:, :, None, None].expand(-1, -1, *logits.shape[2:])
        refined: Tensor = self.convolution(torch.cat([logits, tags], dim=1))
        return refined


def _layer(in_channels: int, out_channels: int, norm: str, dilation: int | None = None) -> nn.Sequential:
    """Convolution (3x3 where dilated, else 1x1), normalisation, ReLU; the map keeps its size."""
    size, reach = (3, dilation) if dilation else (1, 0)
    convolution = nn.Conv2d(in_channels, out_channels, size, padding=reach, dilation=max(reach, 1), bias=False)
    return nn.Sequential(convolution, head_norm(norm, out_channels), nn.ReLU(inplace=True))
