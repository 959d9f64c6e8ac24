"""Local features of an image: a linear layer on the first maps of the backbone, left as ImageNet taught them.

Trained on tags, a whole network need not find the lesion: another camera or patient gives the image away, and it
looks there.  Colour and texture of a small neighbourhood, weighed linearly, know little of either.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, normalize

from endotransfer.config import ModelConfig
from endotransfer.models.backbones.backbone import shallow_backbone
from endotransfer.models.backbones.on_backbone import OnBackbone
from endotransfer.models.pyramid import at_size


class LocalFeatures(OnBackbone):
    """Images [B, 3, H, W] -> descriptions [B, 2 C, H / 8, W / 8] of each neighbourhood; it is never trained.

    From the first map at 1/8 of the image, or at what `model.local_stride` says; of a ViT, the first that is taken.
    """

    def __init__(self, model: ModelConfig, norm: str | None = None) -> None:
        """`norm`: of a checkpoint that is to fill it; None: what the weights of `model` ask for."""
        super().__init__(shallow_backbone(model, norm))
        self.channels = 2 * self.backbone.channels
        self.requires_grad_(False)

    def train(self, mode: bool = True) -> "LocalFeatures":
        return super().train(False)

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        features = at_size(self.stages(images)[-1], self.backbone.grid(images))
        features = features.to(torch.promote_types(features.dtype, torch.float32))  # statistics follow
        smooth = normalize(avg_pool2d(features, 3, stride=1, padding=1), dim=1)
        return torch.cat([math.sqrt(self.backbone.channels) * smooth, within_image(smooth)], dim=1)


class LocalScorer(nn.Module):
    """Descriptions [B, C, h, w] -> how much each place looks like a lesion, [B, h, w]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Conv2d(channels, 1, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)  # type: ignore[arg-type]

    def teach(self, weight: Tensor, bias: Tensor) -> None:
        """Take over what was learnt elsewhere: weight [C], bias [1]."""
        self.linear.weight.data.copy_(weight.view_as(self.linear.weight))
        self.linear.bias.data.copy_(bias)  # type: ignore[union-attr]

    def forward(self, descriptions: Tensor) -> Tensor:
        # A limit is set at the edge of what normal images reach: half precision would blur it.
        with torch.autocast(descriptions.device.type, enabled=False):
            scores: Tensor = self.linear(descriptions)
        return scores.squeeze(1)


def within_image(features: Tensor) -> Tensor:
    """Each channel [B, C, h, w] less its mean over the image, in its deviations: what stands out of THIS image."""
    deviation, mean = torch.std_mean(features, dim=(2, 3), keepdim=True, correction=0)
    # A channel that hardly varies would be noise blown up to size.
    floor = 0.1 * deviation.mean(1, keepdim=True) + 1e-4
    return (features - mean) / (deviation + floor)
