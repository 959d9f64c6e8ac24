"""Gradients of a recorded network reach its weights as those of a plain one would, whatever else a step computes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from endotransfer.engine.recorded_network import RecordedNetwork


class Replayed:
    """A CUDA graph's part without a GPU: what was recorded is computed again."""

    def __init__(self, again: Callable[[], None]) -> None:
        self.again = again

    def replay(self) -> None:
        with torch.enable_grad():
            self.again()


class OnProcessor(RecordedNetwork):
    """`RecordedNetwork` whose two graphs are stand-ins; what is handed to whom, and when, is its own."""

    def __init__(self, network: Callable[[Tensor], tuple[Tensor, ...]], weights: list[nn.Parameter], images: Tensor):
        self.weights, self.images = weights, images.clone()
        self.anchor = torch.zeros((), requires_grad=True)
        self.outputs = tuple(output.detach() for output in network(images))
        self.from_above = [torch.zeros_like(output) for output in self.outputs]

        def forward() -> None:
            for kept, output in zip(self.outputs, network(self.images), strict=True):
                kept.copy_(output.detach())

        def backward() -> None:
            wanted = [weight.requires_grad for weight in weights]
            for weight in weights:
                weight.requires_grad = True  # as when the graph was recorded
            self.gradients = self._gradients(network(self.images), self.from_above)
            for weight, before in zip(weights, wanted, strict=True):
                weight.requires_grad = before

        self.forward_graph, self.backward_graph = Replayed(forward), Replayed(backward)  # type: ignore[assignment]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.unused = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1), nn.Linear(2, 2)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        seen = self.first(images).relu()
        return self.second(seen), seen


IMAGES = torch.rand(2, 2, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def gradients(net: Net, first: Callable[..., tuple[Tensor, ...]], second: Callable[..., tuple[Tensor, ...]]) -> object:
    net.zero_grad(set_to_none=True)
    one, other = first(IMAGES[0]), second(IMAGES[1])
    torch.autograd.backward(one[0].square().sum() + other[0].sum() + other[1].abs().sum())
    return [None if weight.grad is None else weight.grad.clone() for weight in net.parameters()]


@pytest.mark.parametrize("recorded", [(True, True), (True, False), (False, True)])
def test_two_forwards_of_a_step_add_up(recorded: tuple[bool, bool]) -> None:
    torch.manual_seed(0)
    net = Net().to(memory_format=torch.channels_last)
    plain = gradients(net, net, net)
    for _ in range(2):  # a second step finds the buffers of the first
        ways = [OnProcessor(net, list(net.parameters()), IMAGES[0]) if yes else net for yes in recorded]
        found = gradients(net, *ways)
        assert isinstance(plain, list) and isinstance(found, list)
        for ours, expected in zip(found, plain, strict=True):
            assert (ours is None) == (expected is None)
            assert ours is None or (torch.allclose(ours, expected) and ours.stride() == expected.stride())


def test_weights_that_a_phase_does_not_train_get_no_gradient() -> None:
    net = Net()
    net.first.requires_grad_(False)
    found = OnProcessor(net, list(net.parameters()), IMAGES[0])
    torch.autograd.backward(found(IMAGES[1])[0].sum())
    assert net.first.weight.grad is None and net.second.weight.grad is not None
    net.requires_grad_(False)
    assert not found(IMAGES[1])[0].requires_grad
