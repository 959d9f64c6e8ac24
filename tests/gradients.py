"""The gradient of a loss, in one typed call."""

import torch
from torch import Tensor


def gradient(loss: Tensor, of: Tensor, retain_graph: bool = False) -> Tensor:
    """d loss / d `of`, of the shape of `of`, a leaf; fails where the loss does not depend on it."""
    torch.autograd.backward(loss, retain_graph=retain_graph)
    assert of.grad is not None
    return of.grad
