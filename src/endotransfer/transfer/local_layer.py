"""Beyond the paper: the linear layer of local evidence, taught by source masks and target tags (transfer/evidence.py).

All its examples are looked at in every step: a thousand numbers need no random batches, and so no seed changes what the
layer learns.  Images are taken as they are: where colour is the sign, as with blood, changes of colour hide it.
"""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.optim import AdamW

from endotransfer.batch import UNKNOWN_TAG, SourceBatch
from endotransfer.reduce import rank, sum_over_processes, world_size
from endotransfer.transfer.centroids import labels_at
from endotransfer.transfer.evidence import source_evidence, target_evidence
from endotransfer.transfer.labelling import TargetSet

SIDE = 16  # places of an image that take part lie on a grid of about so many rows and columns
MOST_IMAGES = 2000  # of each domain: more teach a linear layer nothing, and must not fill a GPU
SOURCE_FIRST = 0.25  # of the steps

View = Callable[[Tensor], Tensor]  # images [B, 3, H, W] -> descriptions [B, C, h, w]
Examples = tuple[Tensor, Tensor]  # descriptions [N, P, C] of P places of each image, and masks [N, P] or tags [N]
Term = Callable[[Tensor, Tensor], Tensor]  # scores [N, P], masks or tags -> loss


def source_examples(view: View, source: Iterable[SourceBatch], images: int) -> Examples:
    """This process's share of the source, of which every process sees all `images`."""
    kept, seen, stride = [], 0, _stride(images, MOST_IMAGES)
    for batch in source:
        places = torch.arange(seen, seen + len(batch.masks))
        chosen = (places % stride == 0) & (places // stride % world_size() == rank())
        described = view(batch.images[: len(batch.masks)][chosen])
        masks = labels_at(batch.masks[chosen], described.shape[-2:])
        kept.append((_thinned(described), _thinned(masks.unsqueeze(1)).squeeze(2)))
        seen += len(batch.masks)
    return _joined(kept)


def target_examples(view: View, target: TargetSet, device: torch.device) -> Examples:
    """This process's share of the target, with its tags."""
    own = sum(len(batch.keys) for batch in target.without_images())
    kept, seen, stride = [], 0, _stride(int(sum_over_processes(torch.tensor(own, device=device))), MOST_IMAGES)
    for batch in target.after(0):
        # Image i of process r is image r + i * world of the set.
        chosen = (rank() + world_size() * torch.arange(seen, seen + len(batch.keys))) % stride == 0
        tags = torch.full((len(batch.keys),), UNKNOWN_TAG) if batch.tags is None else batch.tags
        kept.append((_thinned(view(batch.images[chosen])), tags.to(device)[chosen]))
        seen += len(batch.keys)
    return _joined(kept)


def fit(source: Examples, target: Examples, steps: int, lr: float) -> tuple[Tensor, Tensor]:
    """Weight [C] and bias [1] of the layer after `steps` of AdamW over all examples of all processes.

    The first quarter is the source's alone.  The layer starts at zero, where all scores are alike and the likeliest
    places are whichever a sort puts first; what it learnt from those it would keep.
    """
    weight, bias = source[0].new_zeros(source[0].shape[-1]), source[0].new_zeros(1)
    optimiser = AdamW([weight, bias], lr=lr)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = lr * (1 - step / steps) ** 0.9
        parts = [_gradient(source, source_evidence, weight, bias)]
        if step >= SOURCE_FIRST * steps:
            parts.append(_gradient(target, target_evidence, weight, bias))
        of_weight, of_bias = (torch.stack(list(some)).sum(0) for some in zip(*parts, strict=True))
        weight.grad, bias.grad = (sum_over_processes(one) / world_size() for one in (of_weight, of_bias))
        optimiser.step()
    return weight, bias


def _gradient(examples: Examples, term: Term, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Of a term, by the layer.  By hand from that of the scores: autograd would keep the descriptions a second time."""
    described, truth = examples
    with torch.enable_grad():
        scores = (described @ weight + bias).detach().requires_grad_()
        (slope,) = torch.autograd.grad(term(scores, truth), scores)
    return torch.einsum("np,npc->c", slope, described), slope.sum().view(1)


def _stride(images: int, most: int) -> int:
    return max(1, math.ceil(images / most))


def _thinned(maps: Tensor) -> Tensor:
    """[B, C, h, w] -> [B, P, C]: places on a grid of about SIDE rows and columns."""
    rows, columns = (max(1, cells // SIDE) for cells in maps.shape[-2:])
    return maps[..., rows // 2 :: rows, columns // 2 :: columns].flatten(2).transpose(1, 2).contiguous()


def _joined(parts: list[Examples]) -> Examples:
    described, truths = zip(*parts, strict=True)
    return torch.cat(described), torch.cat(truths)
