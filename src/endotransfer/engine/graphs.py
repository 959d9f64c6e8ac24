"""CUDA graphs for the segmenter: one launch instead of several hundred, in forward and in backward.

A step on a handful of images is bound by the time Python takes to launch kernels, not by the GPU: replaying a recorded
graph takes that away.  A graph has fixed input and output buffers, so it is replayed only where that cannot be seen:
fixed shapes, no batch statistics, in training, and once a step; a second forward of the same shape in a step has a
graph of its own.  Everything else runs as it always did.

A recorded step is then bound by the GPU's memory: bias, ReLU and residual each read and write whole maps.  Compiled,
they are one kernel (22 ms instead of 36 for a ResNet-50 on 32 images, H200, 2026-11-18).  Compiling a shape takes most
of a minute, once in a process, since the compiled code takes the weights as inputs: for long runs, on request.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial

import torch
from lightning.fabric import Fabric
from torch import Tensor, nn

from endotransfer.batch import SegOutput
from endotransfer.engine.recorded_network import RecordedNetwork
from endotransfer.models.segmenters.recordable import Recordable

OFTEN = 3  # forwards of a shape that make it worth recording (a last, smaller batch is not)
MOST_IN_A_STEP = 3  # graphs of one shape: each holds all maps of a forward
MOST_COMPILED = 64  # networks and shapes a process compiles: torch refuses the ninth, a benchmark's cells have more

Place = tuple[torch.Size, int]  # a shape, and which of its forwards in a step


def use_graphs(fabric: Fabric, segmenter: nn.Module, norm: str, compiled: bool = False) -> "CudaGraphs | None":
    """Let `segmenter` replay recorded graphs, where this machine and this network allow it.

    Only segmenters that say that they can be recorded: what another one keeps beside its outputs would be lost.
    """
    if fabric.device.type != "cuda" or not isinstance(segmenter, Recordable) or norm not in ("frozen", "group"):
        return None
    segmenter.graphs = CudaGraphs(segmenter, fabric, compiled)  # pragma: needs cuda
    return segmenter.graphs  # pragma: needs cuda


class CudaGraphs:  # pragma: needs cuda
    """A graph for each shape that keeps coming.  The segmenter asks before it computes; see `Segmenter.forward`."""

    def __init__(self, segmenter: Recordable, fabric: Fabric, compiled: bool) -> None:
        self.segmenter, self.fabric, self.compiled = segmenter, fabric, compiled
        self.seen: dict[Place, int] = {}
        self.graphs: dict[Place, RecordedNetwork] = {}
        self.used: dict[torch.Size, int] = {}  # forwards of this step
        self.tags = False  # whether a recorded output has tag logits beside logits and features,
        self.aux: tuple[str, ...] = ()  # and what else
        self.inline = False  # a whole step is being recorded

    def new_step(self) -> None:
        """Outputs of the last step are no longer looked at."""
        self.used.clear()

    def record(self) -> None:
        """Record what was asked for often since the last time, and forget what was not.

        While no loader copies to the GPU: a copy would end up in the recording, or break it off.
        """
        wanted = [place for place, times in self.seen.items() if times >= OFTEN]
        self.graphs = {place: self.graphs.get(place) or self._record(place[0]) for place in wanted}
        self.seen.clear()

    def replay(self, images: Tensor) -> SegOutput | None:
        """The output for `images` [B, 3, H, W], or None where the segmenter has to compute it."""
        shape = images.shape
        if not self.segmenter.training or not torch.is_grad_enabled() or images.requires_grad:
            return None
        if self.inline:
            return self._named(compute_compiled(self.segmenter, images)) if self.compiled else None
        place = shape, self.used.get(shape, 0)
        self.used[shape] = place[1] + 1
        if place[1] < MOST_IN_A_STEP:
            self.seen[place] = self.seen.get(place, 0) + 1
        if place not in self.graphs:
            return None
        return self._named(self.graphs[place](images))

    @contextmanager
    def inlined(self) -> Iterator[None]:
        """While a whole step is recorded: no graphs within it, but compiled code where that is asked for."""
        shapes = {shape for shape, _ in self.seen}
        self.seen.clear()
        if self.compiled:  # now, since nothing may be compiled in a recording
            for shape in sorted(shapes):
                self._compile_for(torch.rand(shape, device=self.fabric.device))
        self.inline = True
        try:
            yield
        finally:
            self.inline = False

    def _compile_for(self, images: Tensor) -> None:
        weights = list(self.segmenter.train().requires_grad_().parameters())
        self._look(images)
        with self.fabric.autocast():
            outputs = compute_compiled(self.segmenter, images)
        wanted = [output for output in outputs if output.requires_grad]
        torch.autograd.grad(wanted, weights, [torch.zeros_like(one) for one in wanted], allow_unused=True)

    def _look(self, images: Tensor) -> None:
        """Which outputs there are."""
        with torch.no_grad(), self.fabric.autocast():
            shown = self.segmenter.compute(images)
        self.tags, self.aux = shown.tag_logits is not None, tuple(sorted(shown.aux))

    def _named(self, outputs: Sequence[Tensor]) -> SegOutput:
        logits, features, *rest = outputs
        tags = rest.pop(0) if self.tags else None
        return SegOutput(logits, tags, features, dict(zip(self.aux, rest, strict=True)))

    def _record(self, shape: torch.Size) -> RecordedNetwork:
        torch.cuda.empty_cache()  # what plain steps had taken is not needed beside the graph's own memory
        self.segmenter.train().requires_grad_()
        images = torch.rand(shape, device=self.fabric.device)
        self._look(images)
        with self.fabric.autocast():
            precision, mixed = torch.get_autocast_dtype("cuda"), torch.is_autocast_enabled("cuda")
        # Without its cache of cast weights, which a graph would keep as they were.
        autocast = partial(torch.autocast, "cuda", precision, enabled=mixed, cache_enabled=False)
        body = partial(compute_compiled if self.compiled else compute, self.segmenter)
        return RecordedNetwork(body, list(self.segmenter.parameters()), images, autocast)


def compute(segmenter: Recordable, images: Tensor) -> tuple[Tensor, ...]:
    """Logits, features, with a tag head tag logits, and what else there is in the order of its names."""
    output = segmenter.compute(images)
    tags = () if output.tag_logits is None else (output.tag_logits,)
    return (output.logits, output.features, *tags, *(output.aux[name] for name in sorted(output.aux)))


@cache
def compile_for_all(backend: str = "inductor") -> Callable[[Recordable, Tensor], tuple[Tensor, ...]]:
    """One function for all segmenters of this process: networks of one shape share what is compiled."""
    limits = torch._dynamo.config
    limits.recompile_limit = max(limits.recompile_limit, MOST_COMPILED)
    return torch.compile(compute, dynamic=False, fullgraph=True, backend=backend)


def compute_compiled(segmenter: Recordable, images: Tensor) -> tuple[Tensor, ...]:  # pragma: needs cuda
    return compile_for_all()(segmenter, images.contiguous(memory_format=torch.channels_last))
