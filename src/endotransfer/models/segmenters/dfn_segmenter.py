"""DFN's network on the shared backbone at plain strides: a smooth network from deep to shallow, a border network back.

Designed here: S1 on the last stage, and its refinement of the last logits, as in every system; DFN has neither.
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import SegOutput
from endotransfer.config import ModelConfig
from endotransfer.errors import ConfigError
from endotransfer.models.backbones.backbone import Backbone, backbone_of, empty_backbone
from endotransfer.models.backbones.on_backbone import OnBackbone
from endotransfer.models.heads import Refinement, TagHead
from endotransfer.models.network_spec import Architecture, NetworkSpec
from endotransfer.models.segmenters.dfn_blocks import ChannelAttention, Head, RefinementBlock, resized
from endotransfer.models.segmenters.recordable import Recordable

LEVELS = 4  # stages 2 to 5 of a ResNet, at 1/4, 1/8, 1/16 and 1/32 of the image


class SmoothNet(nn.Module):
    """Four maps, shallow to deep -> logits of four levels, deep to shallow, and the features under the last of them.

    It starts from the mean of the deepest map: what the whole image shows guides every level.
    """

    def __init__(self, stages: tuple[int, ...], channels: int, classes: int, norm: str) -> None:
        super().__init__()
        self.whole_image = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(stages[-1], channels, 1, bias=False),
            nn.GroupNorm(1, channels),  # as in ASPP: one value a channel has no other statistics
            nn.ReLU(inplace=True),
        )
        self.before = nn.ModuleList([RefinementBlock(stage, channels, norm) for stage in reversed(stages)])
        self.attention = nn.ModuleList([ChannelAttention(channels) for _ in stages])
        self.after = nn.ModuleList([RefinementBlock(channels, channels, norm) for _ in stages])
        self.heads = nn.ModuleList([Head(channels, classes, norm) for _ in stages])

    def forward(self, stages: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        deeper, logits = self.whole_image(stages[-1]), []
        levels = zip(reversed(stages), self.before, self.attention, self.after, self.heads, strict=True)
        for stage, before, attention, after, head in levels:
            deeper = after(attention(before(stage), resized(deeper, stage)))
            logits.append(head(deeper))
        return logits, deeper


class BorderNet(nn.Module):
    """Four maps, shallow to deep -> logits of "here is a border" after each of them, [B, 4, H / 4, W / 4]."""

    def __init__(self, stages: tuple[int, ...], channels: int, norm: str) -> None:
        super().__init__()
        self.before = nn.ModuleList([RefinementBlock(stage, channels, norm) for stage in stages])
        self.after = nn.ModuleList([RefinementBlock(channels, channels, norm) for _ in stages])
        self.heads = nn.ModuleList([Head(channels, 1, norm) for _ in stages])

    def forward(self, stages: list[Tensor]) -> Tensor:
        merged, logits = None, []
        for stage, before, after, head in zip(stages, self.before, self.after, self.heads, strict=True):
            added = resized(before(stage), stages[0])
            merged = after(added if merged is None else merged + added)
            logits.append(head(merged))
        return torch.cat(logits, dim=1)


class DfnSpec(NetworkSpec):
    kind = "dfn"

    model: Architecture
    channels: int = Field(ge=1)
    border_channels: int = Field(ge=1)
    classes: int = Field(ge=2)
    tags: bool

    def build(self) -> "DfnSegmenter":
        return DfnSegmenter(empty_backbone(self.model, plain=True), self)


class DfnSegmenter(Recordable, OnBackbone):
    """Images [B, 3, H, W] -> SegOutput with logits [B, K, H / 4, W / 4] of the shallowest level.

    aux: "level_0" to "level_2" [B, K, h, w], the deeper levels from the deepest on, and "borders" [B, 4, H / 4, W / 4].
    """

    def __init__(self, backbone: Backbone, spec: DfnSpec) -> None:
        super().__init__(backbone)
        backbone.require_maps(LEVELS, "dfn")
        if len(set(backbone.strides[-LEVELS:])) < LEVELS:
            raise ConfigError(
                "method dfn refines from coarse maps to fine ones, and all maps of a plain ViT are alike; choose a "
                "backbone with stages, for example resnet50 or sam2_hiera_tiny, or another method."
            )
        stages, norm = backbone.stages[-LEVELS:], spec.model.norm
        self.spec = spec
        self.feature_channels = spec.channels
        self.smooth = SmoothNet(stages, spec.channels, spec.classes, norm)
        self.border = BorderNet(stages, spec.border_channels, norm)
        self.tag_head = TagHead(backbone.channels) if spec.tags else None
        self.refinement = Refinement(spec.classes) if spec.tags else None

    def compute(self, images: Tensor, domain: str = "source") -> SegOutput:
        self.enter(domain)
        stages = self.stages(images)[-LEVELS:]
        (*deeper, logits), seen = self.smooth(stages)
        aux = {f"level_{index}": level for index, level in enumerate(deeper)} | {"borders": self.border(stages)}
        if self.tag_head is None or self.refinement is None:
            return SegOutput(logits, None, seen, aux)
        tag_logits = self.tag_head(stages[-1])
        return SegOutput(self.refinement(logits, tag_logits), tag_logits, seen, aux)


def build_dfn_segmenter(
    model: ModelConfig, channels: int, border_channels: int, classes: int, tags: bool
) -> DfnSegmenter:
    spec = DfnSpec(model=model, channels=channels, border_channels=border_channels, classes=classes, tags=tags)
    return DfnSegmenter(backbone_of(model, plain=True), spec)
