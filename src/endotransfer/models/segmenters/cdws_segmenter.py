"""CDWS's network: a lesion map from each of three depths of the backbone, and their fixed mixture.

Designed here: the depths are the three stages before the last of the shared backbone (layers 1, 2, 3 of a ResNet) in
place of VGG's conv1_2, conv2_2, conv3_3; the last stage serves S1, which refines the prediction as in every system:
p(lesion here) is multiplied by what S1 says of the image, with nothing to learn, since no pixel label need be there.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, logsigmoid

from endotransfer.batch import LESION, SegOutput
from endotransfer.config import ModelConfig
from endotransfer.models.backbones.backbone import Backbone, backbone_of, empty_backbone
from endotransfer.models.backbones.families import settled_model
from endotransfer.models.backbones.on_backbone import OnBackbone
from endotransfer.models.heads import TagHead, tag_log_probabilities
from endotransfer.models.network_spec import Architecture, NetworkSpec
from endotransfer.models.segmenters.recordable import Recordable

SHARES = (0.2, 0.35, 0.45)  # of the depths in the mixture, shallow to deep; their sum is 1


class CdwsSpec(NetworkSpec):
    kind = "cdws"

    model: Architecture

    def build(self) -> "CdwsSegmenter":
        return CdwsSegmenter(empty_backbone(self.model), self)


class CdwsSegmenter(Recordable, OnBackbone):
    """Images [B, 3, H, W] -> SegOutput with logits [B, 2, H, W]: the fused map p, refined by S1.

    aux["depths"] [B, 3, H, W]: the logit of lesion at each depth, up-sampled; aux["fused"] [B, 2, H, W]: log(1 - p) and
    log p before S1; features: what the deepest one sees.
    """

    log_shares: Tensor

    def __init__(self, backbone: Backbone, spec: CdwsSpec) -> None:
        super().__init__(backbone)
        backbone.require_maps(1 + len(SHARES), "cdws")
        self.spec = spec
        # No part of the state, only at hand on the network's device: a list copied to a GPU would make the host wait.
        self.register_buffer("log_shares", torch.tensor(SHARES).log()[:, None, None], persistent=False)
        depths = backbone.stages[-4:-1]
        self.feature_channels = depths[-1]
        self.pixel_classifiers = nn.ModuleList([nn.Conv2d(channels, 1, 1) for channels in depths])
        self.tag_head = TagHead(backbone.channels)

    def compute(self, images: Tensor, domain: str = "source") -> SegOutput:
        self.enter(domain)
        *depths, last = self.stages(images)[-4:]
        maps = [_full_size(head(depth), images) for head, depth in zip(self.pixel_classifiers, depths, strict=True)]
        at_depths = torch.cat(maps, dim=1)
        fused, tag_logits = mixture(at_depths, self.log_shares), self.tag_head(last)
        in_image = tag_log_probabilities(tag_logits)[:, LESION:].to(fused.dtype)
        refined = torch.cat([fused[:, :LESION], fused[:, LESION:] + in_image], dim=1)
        return SegOutput(refined, tag_logits, depths[-1], {"depths": at_depths, "fused": fused})


def mixture(depths: Tensor, log_shares: Tensor) -> Tensor:
    """Logits of M lesion maps [B, M, H, W] -> [log(1 - p), log p] [B, 2, H, W] of p = the sum of share x sigmoid.

    In logarithms, so that a sure pixel keeps its gradient; since the shares [M, 1, 1] sum to 1, so do p and 1 - p.
    """
    log_normal = (logsigmoid(-depths) + log_shares).logsumexp(1)
    log_lesion = (logsigmoid(depths) + log_shares).logsumexp(1)
    return torch.stack([log_normal, log_lesion], dim=1)


def _full_size(logits: Tensor, images: Tensor) -> Tensor:
    """At the images' size; single precision at least, because means over all of its pixels follow."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return interpolate(logits, size=images.shape[-2:], mode="bilinear", align_corners=False)


def build_cdws_segmenter(model: ModelConfig) -> CdwsSegmenter:
    return CdwsSegmenter(backbone_of(model), CdwsSpec(model=settled_model(model)))
