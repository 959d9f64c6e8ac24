"""A small fully convolutional segmenter without a pretrained backbone."""

from pydantic import Field
from torch import Tensor, nn

from endotransfer.batch import SegOutput
from endotransfer.models.network_spec import NetworkSpec


class SmallSegmenterSpec(NetworkSpec):
    """What config.json of a trained model holds; `kind` is looked up when the model is loaded."""

    kind = "minent_small"

    classes: int = Field(ge=2)
    tags: bool
    width: int = Field(ge=1)

    def build(self) -> "SmallSegmenter":
        return SmallSegmenter(self)


class SmallSegmenter(nn.Module):
    """Images [B, 3, H, W] in [0, 1] -> SegOutput with logits [B, K, H / 8, W / 8]; any H and W from 32 up."""

    def __init__(self, spec: SmallSegmenterSpec) -> None:
        super().__init__()
        self.spec = spec
        layers: list[nn.Module] = []
        for before, after in ((3, spec.width), (spec.width, 2 * spec.width), (2 * spec.width, 4 * spec.width)):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.GroupNorm(1, after), nn.ReLU()]
        self.backbone = nn.Sequential(*layers)
        self.pixel_classifier = nn.Conv2d(4 * spec.width, spec.classes, 1)
        self.tag_classifier = nn.Linear(4 * spec.width, 2) if spec.tags else None

    def forward(self, images: Tensor, domain: str = "source") -> SegOutput:
        features = self.backbone(2 * images - 1)
        tag_logits = None if self.tag_classifier is None else self.tag_classifier(features.mean((2, 3)))
        return SegOutput(self.pixel_classifier(features), tag_logits, features)
