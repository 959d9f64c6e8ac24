"""A segmenter whose forward the engine may replay from recorded CUDA graphs."""

from typing import Protocol

from torch import Tensor, nn

from endotransfer.batch import SegOutput


class RecordedForward(Protocol):
    """Outputs from recorded CUDA graphs (`engine.graphs`)."""

    def replay(self, images: Tensor) -> SegOutput | None: ...  # None: nothing is recorded for these images


class Recordable(nn.Module):
    """`compute` is the network; what it returns depends on the images and the weights and on nothing else."""

    graphs: RecordedForward | None = None  # set by the engine, for training on a GPU

    def forward(self, images: Tensor, domain: str = "source") -> SegOutput:
        recorded = None if self.graphs is None else self.graphs.replay(images)
        return self.compute(images, domain) if recorded is None else recorded

    def compute(self, images: Tensor, domain: str = "source") -> SegOutput:
        raise NotImplementedError
