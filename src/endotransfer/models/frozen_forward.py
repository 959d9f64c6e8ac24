"""A network looked through without leaving a trace in it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def held_still(network: nn.Module) -> Iterator[None]:
    """In evaluation mode and without gradients, so that neither running statistics nor weights can move."""
    training = network.training
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        network.train(training)
