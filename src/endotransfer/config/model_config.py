"""`model`: the segmentation network."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from endotransfer.config.strict import Strict

V2_RATES = (6, 12, 18, 24)  # of DeepLab-v2's classifiers
Positive = Annotated[int, Field(ge=1)]


class ModelConfig(Strict):
    """The segmenter.  Defaults: DeepLab-v3 on an ImageNet ResNet-50 at output stride 8, as in the paper."""

    backbone: str = "resnet50"
    pretrained: bool = True  # from timm's hub, unless `weights` names a file
    weights: Path | None = None  # a local safetensors file of backbone weights
    stride_on: Literal["auto", "conv1", "conv2"] = "auto"  # where a ResNet's bottleneck has its stride
    norm: Literal["frozen", "group", "per_domain", "batch"] = "frozen"
    head: Literal["deeplab_v3", "deeplab_v2"] = "deeplab_v3"
    multi_grid: tuple[int, ...] | None = (1, 2, 4)
    aspp_rates: tuple[Positive, ...] = Field(default=(12, 24, 36), min_length=1)
    aspp_channels: int = Field(default=256, ge=1)
    dropout: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _as_in_deeplab_v2(cls, values: object) -> object:
        """The older network has its own rates and no multi-grid; whatever is written wins."""
        if isinstance(values, dict) and values.get("head") == "deeplab_v2":
            return {"aspp_rates": V2_RATES, "multi_grid": None, **values}
        return values
