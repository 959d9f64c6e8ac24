"""`evaluation`: how metrics are computed from predictions."""

from typing import Literal

from pydantic import Field

from endotransfer.config.strict import LARGEST_BATCH, Sides, Strict


class EvaluationConfig(Strict):
    """How metrics are computed from predictions."""

    resamples: int = Field(default=1000, ge=1, le=10**6)  # of the bootstrap
    batch: int = Field(default=16, ge=1, le=LARGEST_BATCH)
    pranet: bool = False  # also the figures of the PraNet protocol
    size: Sides | Literal["own"] | None = None  # what the network sees: None: data.size; own: each image's own size
    window: Sides | None = None  # a sliding window (height, width) over that; None: the whole image at once
