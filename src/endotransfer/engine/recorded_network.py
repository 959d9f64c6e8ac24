"""Forward and backward of a network on images of one shape, recorded as two CUDA graphs.

As `torch.cuda.make_graphed_callables`, but autograd sees one anchor in place of every weight: to hand three hundred
gradients one by one from a node to their weights, each on its own stream, took the host longer than the GPU computed.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

Network = Callable[[Tensor], tuple[Tensor, ...]]
WARM_UP = 3  # runs before the recording: libraries choose their kernels, and compiled code is compiled


class RecordedNetwork:  # pragma: needs cuda
    """Call it with images of the recorded shape; outputs are overwritten by the next call.

    `weights`: those of the network.  A backward gives each that wants one its gradient, added to what it has.
    """

    def __init__(
        self, network: Network, weights: Sequence[nn.Parameter], images: Tensor,
        autocast: Callable[[], AbstractContextManager[Any]],
    ) -> None:  # fmt: skip
        self.weights = list(weights)
        self.images = images.clone()
        self.anchor = torch.zeros((), device=images.device, requires_grad=True)
        self._warm_up(network, autocast)
        self.forward_graph, self.backward_graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.forward_graph), autocast():
            outputs = network(self.images)
        self.from_above = [torch.zeros_like(output) for output in outputs]
        with torch.cuda.graph(self.backward_graph, pool=self.forward_graph.pool()):
            self.gradients = self._gradients(outputs, self.from_above)
        self.outputs = tuple(output.detach() for output in outputs)

    def __call__(self, images: Tensor) -> tuple[Tensor, ...]:
        if not any(weight.requires_grad for weight in self.weights):
            return self.replay(images)
        outputs: tuple[Tensor, ...] = _Replay.apply(self.anchor, images, self)
        return outputs

    def replay(self, images: Tensor) -> tuple[Tensor, ...]:
        self.images.copy_(images)
        self.forward_graph.replay()
        return tuple(output.detach() for output in self.outputs)

    def replay_backward(self, from_above: Sequence[Tensor | None]) -> None:
        for recorded, gradient in zip(self.from_above, from_above, strict=True):
            recorded.zero_() if gradient is None else recorded.copy_(gradient)
        self.backward_graph.replay()
        wanted = [
            (weight, gradient)
            for weight, gradient in zip(self.weights, self.gradients, strict=True)
            if gradient is not None and weight.requires_grad
        ]
        later = [(weight.grad, gradient) for weight, gradient in wanted if weight.grad is not None]
        for weight, gradient in wanted:
            if weight.grad is None:
                weight.grad = gradient
        if later:  # of another forward in this step
            torch._foreach_add_([held for held, _ in later], [gradient for _, gradient in later])

    def _warm_up(self, network: Network, autocast: Callable[[], AbstractContextManager[Any]]) -> None:
        torch.cuda.synchronize()
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                with autocast():
                    outputs = network(self.images)
                self._gradients(outputs, [torch.zeros_like(output) for output in outputs])
                del outputs
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.synchronize()

    def _gradients(self, outputs: Sequence[Tensor], from_above: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        """Of every weight, in the weight's own memory layout, as optimisers want it; None: it has no part in this."""
        some = [(output, above) for output, above in zip(outputs, from_above, strict=True) if output.requires_grad]
        found = torch.autograd.grad(
            [output for output, _ in some], self.weights, [above for _, above in some], allow_unused=True
        )
        return tuple(
            None if gradient is None else torch.empty_like(weight).copy_(gradient).detach()
            for weight, gradient in zip(self.weights, found, strict=True)
        )


class _Replay(torch.autograd.Function):  # pragma: needs cuda
    @staticmethod
    def forward(ctx: Any, anchor: Tensor, images: Tensor, recorded: RecordedNetwork) -> tuple[Tensor, ...]:
        ctx.recorded = recorded
        ctx.set_materialize_grads(False)
        return recorded.replay(images)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *from_above: Tensor | None) -> tuple[None, None, None]:
        ctx.recorded.replay_backward(from_above)
        return None, None, None
