"""Run by `perf.bench_scale`: a plain data-parallel step in COUNT gloo processes; the first prints its seconds by the
clock, and the seconds of a core that all processes together took.

The batch has the same number of images whatever the number of processes; gradients are summed over all of them after
the backward pass, as the engine does.
"""

import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.spawn import spawn
from torch.nn.functional import cross_entropy

from endotransfer.distributed import sum_over_processes
from perf.bench_step import small_or_real

IMAGES = 8
WARM = 2  # steps that are not counted


def work(rank: int, count: int, steps: int, meeting: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)
    from endotransfer.models.segmenters.segmenter import SegmenterSpec

    torch.manual_seed(0)
    net: nn.Module = SegmenterSpec(model=small_or_real().model, classes=2, tags=False).build().train()
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-5)
    images = torch.rand(IMAGES // count, 3, 128, 128)
    masks = torch.randint(0, 2, (IMAGES // count, 128, 128))

    def step() -> None:
        optimiser.zero_grad()
        torch.autograd.backward(cross_entropy(net(images).at((128, 128)), masks))
        gradients = [weight.grad for weight in net.parameters() if weight.grad is not None]
        joined = sum_over_processes(torch.cat([gradient.flatten() for gradient in gradients])) / count
        first = 0
        for gradient in gradients:
            gradient.copy_(joined[first : first + gradient.numel()].view_as(gradient))
            first += gradient.numel()
        optimiser.step()

    times, before = [], 0.0
    for number in range(steps):
        dist.barrier()
        before = time.process_time() if number == WARM else before
        began = time.perf_counter()
        step()
        dist.barrier()
        times.append(time.perf_counter() - began)
    spent = torch.tensor((time.process_time() - before) / (steps - WARM), dtype=torch.float64)
    dist.all_reduce(spent)
    if rank == 0:
        clock = sorted(times[WARM:])[len(times[WARM:]) // 4]  # a busy machine lengthens some of them
        print(clock, float(spent), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    count, steps = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        spawn(work, (count, steps, f"{folder}/meeting"), nprocs=count)  # type: ignore[no-untyped-call]
