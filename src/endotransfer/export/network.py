"""The predicting network as an ONNX graph: images at the network's own size in, logits out."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from endotransfer.engine.model_folder import TrainedModel
from endotransfer.errors import ConfigError
from endotransfer.inference import pooled, with_temperature

if TYPE_CHECKING:
    from onnx import ModelProto

OPSET = 18  # the first with a Resize that averages where it shrinks
INPUT, LOGITS, TAG_LOGITS, FEATURES = "network_input", "logits", "tag_logits", "features"


class Plain(nn.Module):
    """Tensors in, tensors out: [B, 3, h, w] in [0, 1] -> logits [B, K, h', w'], with S1 tag logits [B, 2].

    And, where the model can tell what is unlike its training images by them, the mean features [B, C].
    """

    def __init__(self, model: TrainedModel) -> None:
        super().__init__()
        self.module, self.domain, self.tags = model.module, model.domain, model.info.tags
        self.temperature = model.info.temperature
        self.features = model.familiarity is not None and model.familiarity.features is not None
        self.names = [LOGITS, *([TAG_LOGITS] if self.tags else []), *([FEATURES] if self.features else [])]

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        output = with_temperature(self.module(images, domain=self.domain), self.temperature)
        assert output.tag_logits is not None or not self.tags
        tags = () if output.tag_logits is None or not self.tags else (output.tag_logits,)
        return (output.logits, *tags, *((pooled(output.features).flatten(1),) if self.features else ()))


def export_network(model: TrainedModel, shape: tuple[int, int], *, optimise: bool = True) -> "ModelProto":
    """The network as ONNX for images of `shape` = (H, W), any number of them at a time.

    `optimise`: merge what can be computed once; without it every weight is as the model has it, under its name.
    """
    plain = Plain(model).eval()
    example = torch.zeros(2, 3, *shape)
    try:
        with torch.no_grad(), _quietly():
            program = torch.onnx.export(
                plain, (example,), dynamo=True, input_names=[INPUT], output_names=plain.names, opset_version=OPSET,
                dynamic_shapes={"images": {0: torch.export.Dim("batch")}}, verbose=False,
                optimize=optimise,
            )  # fmt: skip
    except ImportError as reason:
        raise ConfigError(f"{reason.name} is not installed; install endotransfer[export].") from None
    except Exception as reason:  # an operation that the exporter does not know, in one of timm's many backbones
        first = str(reason).strip().splitlines()[0] if str(reason).strip() else type(reason).__name__
        raise ConfigError(
            f"this network cannot be exported to ONNX ({first.rstrip('.')}); predict with the run itself."
        ) from reason
    assert program is not None
    return program.model_proto


@contextmanager
def _quietly() -> Iterator[None]:
    """The exporter talks at length of things that no user of ours can change."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
