"""What stands on the backbone: S1 (image tag), ASPP (the body of S2), and the refinement of S2 by S1."""

import math

import torch
from torch import Tensor, nn

from endotransfer.batch import LESION, at_least_float32
from endotransfer.models.backbones.normalisation import head_norm

LEAST_LOG_P = math.log(1e-3)  # of S1: surer than this it need not be, and what is surer still would drown S2


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
        dilated = [conv_layer(in_channels, out_channels, norm, dilation=rate) for rate in rates]
        self.views = nn.ModuleList([conv_layer(in_channels, out_channels, norm), *dilated])
        self.whole_image = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            # One value a channel is left: only statistics over the channels exist whatever the batch.
            nn.GroupNorm(1, out_channels),
            nn.ReLU(inplace=True),
        )
        self.fuse = conv_layer((len(rates) + 2) * out_channels, out_channels, norm)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        whole = self.whole_image(features).expand(-1, -1, *features.shape[2:])
        fused: Tensor = self.dropout(self.fuse(torch.cat([*(view(features) for view in self.views), whole], dim=1)))
        return fused


class Refinement(nn.Module):
    """S2's logits [B, K, h, w] refined by S1's [B, 2]: a 1x1 convolution over both, S1's as log-probabilities.

    It starts as the product p(lesion in the image) x p(lesion here, if there is one): log p of S1's lesion is added to
    the logit of every lesion class, and an image that S1 takes for normal is left empty from the first step on.  What
    the convolution makes of both is learnt from there.  S1 itself is taught by tags alone: what S2 gets wrong must not
    bend what S1 says.
    """

    # PAPER: "refined by classification probability via convolution operation" is all that is said.
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.product = nn.Conv2d(classes + 2, classes, 1)
        with torch.no_grad():
            self.product.weight.copy_(torch.eye(classes, classes + 2)[:, :, None, None])
            self.product.weight[LESION:, classes + LESION] = 1
            self.product.bias.zero_()  # type: ignore[union-attr]

    def forward(self, logits: Tensor, tag_logits: Tensor) -> Tensor:
        spread = tag_log_probabilities(tag_logits).to(logits.dtype).expand(-1, -1, *logits.shape[2:])
        refined: Tensor = self.product(torch.cat([logits, spread], dim=1))
        return refined


def tag_log_probabilities(tag_logits: Tensor) -> Tensor:
    """S1's logits [B, 2] -> log p, detached, [B, 2, 1, 1]."""
    return at_least_float32(tag_logits.detach()).log_softmax(1).clamp(min=LEAST_LOG_P)[:, :, None, None]


def conv_layer(in_channels: int, out_channels: int, norm: str, dilation: int | None = None) -> nn.Sequential:
    """Convolution (3x3 where dilated, else 1x1), normalisation, ReLU; the map keeps its size."""
    size, reach = (3, dilation) if dilation else (1, 0)
    convolution = nn.Conv2d(in_channels, out_channels, size, padding=reach, dilation=max(reach, 1), bias=False)
    return nn.Sequential(convolution, head_norm(norm, out_channels), nn.ReLU(inplace=True))
