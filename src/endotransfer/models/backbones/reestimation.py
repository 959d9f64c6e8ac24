"""AdaBN's step: every running mean and variance of a network estimated anew, from the images of another domain."""

from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor, nn

from endotransfer.distributed import sum_over_processes
from endotransfer.models.backbones.normalisation import domain_layers


class Moments:
    """What one layer has seen: a forward pre-hook that sums up count, values and squares of each channel.

    It also lends the layer the statistics of the batch at hand, so that deeper layers see inputs in the scale that the
    new statistics will give them.  The layer need not enter training mode for it, and neither need dropout.
    """

    def __init__(self, statistics: nn.BatchNorm2d) -> None:
        assert statistics.running_mean is not None and statistics.running_var is not None
        self.mean, self.variance = statistics.running_mean, statistics.running_var
        self.sums = torch.zeros(3, statistics.num_features, dtype=torch.float64, device=self.mean.device)

    def __call__(self, layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        x = inputs[0].to(self.mean.dtype)  # half precision would lose most of a sum
        variance, mean = torch.var_mean(x, (0, 2, 3), correction=0)
        self.mean.copy_(mean)
        self.variance.copy_(variance)
        mean, variance = mean.double(), variance.double()
        self.sums += x.numel() / x.shape[1] * torch.stack([torch.ones_like(mean), mean, variance + mean**2])

    def settle(self) -> None:
        """Give the layer its statistics over the images of all processes, the variance unbiased, as BatchNorm's is."""
        count, values, squares = sum_over_processes(self.sums)
        mean = values / count
        self.mean.copy_(mean)
        self.variance.copy_((squares / count - mean**2).clamp(min=0) * count / (count - 1).clamp(min=1))


@torch.no_grad()
def reestimate(network: nn.Module, forward: Callable[[Tensor], object], batches: Iterable[Tensor], domain: str) -> int:
    """Set the statistics of all BatchNorm layers to those over `batches` of images; returns how many layers there are.

    `forward` takes images through `network`; `domain` says whose statistics are meant where layers keep two sets.  The
    average is cumulative: every value counts the same, wherever a batch ends and whichever process holds it.
    """
    moments = {layer: Moments(statistics) for layer, statistics in normalising_layers(network, domain).items()}
    hooks = [layer.register_forward_pre_hook(moment) for layer, moment in moments.items()]
    training = network.training
    network.eval()
    try:
        for images in batches:
            forward(images)
    finally:
        for hook in hooks:
            hook.remove()
        network.train(training)
    for moment in moments.values():
        moment.settle()
    return len(moments)


def normalising_layers(network: nn.Module, domain: str) -> dict[nn.Module, nn.BatchNorm2d]:
    """Each layer that normalises by batch statistics, and the BatchNorm2d that keeps them (itself, or one of two)."""
    by_domain = domain_layers(network)
    inner = {statistics for layer in by_domain for statistics in layer.statistics.values()}
    layers: dict[nn.Module, nn.BatchNorm2d] = {
        layer: layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d) and layer not in inner
    }
    return layers | {layer: cast(nn.BatchNorm2d, layer.statistics[domain]) for layer in by_domain}
