"""`model`: the segmentation network."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from endotransfer.config.strict import Strict

V2_RATES = (6, 12, 18, 24)  # of DeepLab-v2's classifiers
WEIGHT_FILES = ("weights", "region_weights")  # settings of `model` that name a file
Rate = Annotated[int, Field(ge=1, le=4096)]  # an image's side at most
MOST_CHANNELS = 4096


class ModelConfig(Strict):
    """The segmenter.  Defaults: DeepLab-v3 on an ImageNet ResNet-50 at output stride 8, as in the paper.

    What is "auto" here is settled in `models/backbones/families.py`.
    """

    backbone: str = "resnet50"
    pretrained: bool = True  # from timm's hub, unless `weights` names a file
    weights: Path | None = None  # a local safetensors file of backbone weights
    region_weights: Path | None = None  # of SAM 2's tiny image encoder: local scores follow the regions that it sees
    start_from: str | None = None  # a trained model, by folder or name; what is not set here is then as it has it
    stride_on: Literal["auto", "conv1", "conv2"] = "auto"  # where a ResNet's bottleneck has its stride
    norm: Literal["frozen", "group", "per_domain", "batch"] = "frozen"
    head: Literal["auto", "deeplab_v3", "deeplab_v2", "pyramid"] = "auto"  # auto: by the backbone's family
    # auto: (1, 2, 4) for a ResNet under DeepLab-v3
    multi_grid: Annotated[tuple[Rate, ...], Field(max_length=64)] | Literal["auto"] | None = "auto"
    aspp_rates: tuple[Rate, ...] = Field(default=(12, 24, 36), min_length=1, max_length=16)
    aspp_channels: int = Field(default=256, ge=1, le=MOST_CHANNELS)  # of the pyramid too
    local_stride: int | None = Field(default=None, ge=2, le=64)  # of the map under local features; None: 8 or nearest
    dropout: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _as_in_deeplab_v2(cls, values: object) -> object:
        """The older network has its own rates and no multi-grid; whatever is written wins."""
        if isinstance(values, dict) and values.get("head") == "deeplab_v2":
            return {"aspp_rates": V2_RATES, "multi_grid": None, **values}
        return values
