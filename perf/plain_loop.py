"""The rival of a training step: the best plain supervised loop that one would write by hand, on as many images.

Forward, cross-entropy, backward and a fused Adam, nothing else, its data on the device.  On a GPU it is recorded whole
as a CUDA graph, optimiser included, with weights channels-last, and once more compiled; the quickest of them counts.
"""

import copy
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from endotransfer.models.segmenters.segmenter import Segmenter
from perf.timing import alternating_seconds

STEPS = 10  # in a row between two looks at the clock: training waits for a step only when the next is under way
Step = Callable[[], None]
Autocast = Callable[[], AbstractContextManager[object]]


class PlainLoop:
    """`images` [B, 3, H, W] and `masks` [B, H, W], trained on in every step."""

    def __init__(self, net: Segmenter, images: Tensor, masks: Tensor, autocast: Autocast) -> None:
        self.net, self.images, self.masks, self.autocast = net.train().requires_grad_(), images, masks, autocast
        cuda = images.is_cuda
        self.optimiser = torch.optim.Adam(net.parameters(), lr=1e-5, fused=cuda, capturable=cuda)

    def loss(self, images: Tensor, masks: Tensor) -> Tensor:
        with self.autocast():
            return cross_entropy(self.net.compute(images).at(masks.shape[-2:]).float(), masks)

    def step(self, loss: Callable[[Tensor, Tensor], Tensor] | None = None) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward((loss or self.loss)(self.images, self.masks))
        self.optimiser.step()

    def flops(self) -> int:
        """Of one step, forward and backward."""
        with FlopCounterMode(display=False) as counter:
            self.step()
        return int(counter.get_total_flops())

    def graphed(self, loss: Callable[[Tensor, Tensor], Tensor]) -> Step:  # pragma: needs cuda
        """The whole step as one launch."""
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step(loss)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        self.optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            torch.autograd.backward(loss(self.images, self.masks))
            self.optimiser.step()
        self.graph = graph
        return self.replay

    def replay(self) -> None:  # pragma: needs cuda
        """A method of the loop, so that whoever holds the step holds the weights that the graph writes to."""
        self.graph.replay()


def best_plain_step(
    net: Segmenter, images: Tensor, masks: Tensor, autocast: Autocast, *, compiled: bool = True
) -> tuple[str, Step, dict[str, float]]:
    """The quickest form's name and step, and the seconds of every form that runs on this machine."""

    def loop(*, channels_last: bool = False) -> PlainLoop:
        own = copy.deepcopy(net)
        own.graphs = None
        form = torch.channels_last if channels_last else torch.contiguous_format
        return PlainLoop(nn.Module.to(own, memory_format=form), images.contiguous(memory_format=form), masks, autocast)

    plain = loop()
    forms: dict[str, Step] = {"eager": plain.step}
    if images.is_cuda:  # pragma: needs cuda
        _try(forms, "graphed", lambda: _graphed(loop()))
        _try(forms, "graphed, channels-last", lambda: _graphed(loop(channels_last=True)))
        if compiled:
            _try(forms, "compiled, graphed, channels-last", lambda: _graphed(loop(channels_last=True), compiled=True))
    seconds = alternating_seconds(forms, each=3, run=STEPS)
    best = min(seconds, key=lambda form: seconds[form])
    return best, forms[best], seconds


def _graphed(loop: PlainLoop, *, compiled: bool = False) -> Step:  # pragma: needs cuda
    return loop.graphed(torch.compile(loop.loss, dynamic=False) if compiled else loop.loss)


def _try(forms: dict[str, Step], name: str, make: Callable[[], Step]) -> None:  # pragma: needs cuda
    """A form that this version of torch cannot make is left out, with a line that says so."""
    began = time.perf_counter()
    try:
        forms[name] = make()
        print(f"# rival, {name}: made in {time.perf_counter() - began:.0f} s", flush=True)
    except Exception as reason:  # compilers fail in many ways
        print(f"# rival, {name}: left out ({type(reason).__name__}: {str(reason).splitlines()[0][:200]})", flush=True)
