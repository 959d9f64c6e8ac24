"""Beyond the paper: a linear layer on local features, trained on source masks and target tags (local_labeller.py).

All its examples are seen in every step: a thousand weights need no random batches, and so no seed changes what the
layer learns.  Images are taken as they are: where colour is the sign, as with blood, colour augmentation hides it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from torch.optim import AdamW

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG, SourceBatch, at_least_float32
from endotransfer.distributed import global_mean, rank, sum_over_processes, world_size
from endotransfer.losses.centroids import labels_at
from endotransfer.pseudo_labels.target_set import TargetSet

MOST_BYTES = 2 * 2**30  # of a domain's descriptions: more images teach a linear layer nothing, and fill a GPU
LEARNING_RATE = 0.03
SOURCE_FIRST = 0.25  # of the steps
TOP, REST = 0.1, 0.3  # of a lesion image: at least so much is lesion, at least so much is not
HALF = 2  # bytes

View = Callable[[Tensor], Tensor]  # images [B, 3, H, W] -> descriptions [B, C, h, w]
Term = Callable[[Tensor, Tensor], Tensor]  # scores [N, P], masks or tags -> loss


def source_loss(scores: Tensor, masks: Tensor) -> Tensor:
    """Cross-entropy of local scores [B, h, w] against masks [B, h, w] (any class but 0 is lesion)."""
    scores, known = at_least_float32(scores), masks != IGNORE
    terms = binary_cross_entropy_with_logits(scores, ((masks != NORMAL) & known).to(scores), reduction="none")
    return global_mean(torch.where(known, terms, 0).sum(), known.sum())


def target_loss(scores: Tensor, tags: Tensor, lead: Tensor | None = None) -> Tensor:
    """Local scores against tags.  Normal: no place is a lesion, above all not the likeliest ones.

    Lesion: the likeliest TOP are lesion and the least likely REST are not, so that no image is lesion all over
    (multiple-instance learning from both ends).  Untagged images count in neither.  `lead` [P], in units of how far
    scores spread within lesion images, has a say in which places of those are the likeliest (place_prior.py).
    """
    places = at_least_float32(scores).flatten(1)
    top = places.topk(_count(places, TOP)).values
    on_normal = softplus(places).mean(1) + 0.5 * softplus(top).mean(1)
    order = places.detach()
    if lead is not None:  # while all scores are alike, it alone
        order = order + (spread_in_lesion_images(order, tags) + 1e-3) * lead
    likeliest = places.gather(1, order.topk(_count(order, TOP)).indices)
    rest = places.gather(1, order.topk(_count(order, REST), largest=False).indices)
    on_lesion = softplus(-likeliest).mean(1) + 0.5 * softplus(rest).mean(1)
    return _mean_over(on_normal, tags == NORMAL) + _mean_over(on_lesion, tags == LESION)


def spread_in_lesion_images(scores: Tensor, tags: Tensor) -> Tensor:
    """The deviation of scores [N, P] within an image tagged lesion, in the mean over all of them in all processes."""
    chosen = tags == LESION
    deviations = torch.where(chosen, scores.std(1, correction=0), 0).sum()
    return sum_over_processes(deviations) / sum_over_processes(chosen.sum()).clamp(min=1)


def _count(places: Tensor, share: float) -> int:
    return max(1, math.floor(share * places.shape[1]))


def _mean_over(terms: Tensor, chosen: Tensor) -> Tensor:
    return global_mean(torch.where(chosen, terms, 0).sum(), chosen.sum())


@dataclass
class Examples:
    """Some images of one domain, in small batches: what each of their P places looks like, and what is known of it."""

    described: list[Tensor] = field(default_factory=list)  # [b, P, C] each, in half precision
    known: list[Tensor] = field(default_factory=list)  # masks [b, P] or tags [b]
    grid: tuple[int, int] = (0, 0)  # rows and columns of the P places

    def add(self, described: Tensor, known: Tensor) -> None:
        """Descriptions [b, C, h, w] with masks [b, h, w] or tags [b]."""
        places = described.flatten(2).transpose(1, 2)
        self.grid = (described.shape[2], described.shape[3])
        # Half precision for what float32 holds; float64, asked for to the last digit, stays.
        self.described.append((places.half() if places.dtype == torch.float32 else places).contiguous())
        self.known.append(known.flatten(1) if known.ndim > 1 else known)

    def scores(self, weight: Tensor, bias: Tensor) -> Tensor:
        """[N, P]; [0, 1] where a process has none."""
        nothing = [] if self.described else [bias.new_zeros(0, 1)]
        return torch.cat([at_least_float32(some) @ weight + bias for some in self.described] + nothing)

    def all_known(self, scores: Tensor) -> Tensor:
        """The masks [N, P] or tags [N] of `scores`."""
        return torch.cat(self.known) if self.known else scores.new_zeros(0, dtype=torch.long)

    def gradient(self, slope: Tensor, weight: Tensor) -> Tensor:
        """Of the weight [C], where `slope` [N, P] is that of the scores."""
        total, first = torch.zeros_like(weight), 0
        for some in self.described:
            total += torch.einsum("np,npc->c", slope[first : first + len(some)], at_least_float32(some))
            first += len(some)
        return total


def source_examples(view: View, source: Iterable[SourceBatch], images: int) -> Examples:
    """This process's share of the source, of which every process sees all `images`."""
    examples, seen = Examples(), 0
    for batch in source:
        first = view(batch.images[:1])
        stride, places = _stride(images, first), torch.arange(seen, seen + len(batch.masks))
        chosen = (places % stride == 0) & (places // stride % world_size() == rank())
        described = _viewed(view, batch.images[: len(batch.masks)][chosen], first)
        examples.add(described, labels_at(batch.masks[chosen], described.shape[-2:]))
        seen += len(batch.masks)
    return examples


def target_examples(view: View, target: TargetSet) -> Examples:
    """This process's share of the target, with its tags."""
    examples, seen = Examples(), 0
    for batch in target.after(0):
        first = view(batch.images[:1])
        # Image i of process r is image r + i * world_size of the set.
        places = rank() + world_size() * torch.arange(seen, seen + len(batch.keys))
        chosen = places % _stride(target.total, first) == 0
        tags = torch.full((len(batch.keys),), UNKNOWN_TAG) if batch.tags is None else batch.tags
        examples.add(_viewed(view, batch.images[chosen], first), tags.to(first.device)[chosen])
        seen += len(batch.keys)
    return examples


def fit(
    source: Examples, target: Examples, steps: int, lr: float = LEARNING_RATE, lead: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Weight [C] and bias [1] of the layer after `steps` of AdamW over all examples of all processes.

    The first quarter is the source's alone.  The layer starts at zero, where all scores are alike and the likeliest
    places are whichever a sort puts first; what it learnt from those it would keep.  With `lead` [P] (`target_loss`)
    the source says nothing, and all steps are the target's.
    """
    like = at_least_float32(source.described[0][:0])
    weight, bias = like.new_zeros(like.shape[-1]), like.new_zeros(1)
    optimiser = AdamW([weight, bias], lr=lr)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = lr * (1 - step / steps) ** 0.9
        parts = [] if lead is not None else [_gradient(source, source_loss, weight, bias)]
        if lead is not None or step >= SOURCE_FIRST * steps:
            parts.append(_gradient(target, partial(target_loss, lead=lead), weight, bias))
        of_weight, of_bias = (torch.stack(list(some)).sum(0) for some in zip(*parts, strict=True))
        weight.grad, bias.grad = (sum_over_processes(one) / world_size() for one in (of_weight, of_bias))
        optimiser.step()
    return weight, bias


def _gradient(examples: Examples, term: Term, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Of a term, by the layer.  By hand from that of the scores: autograd would keep all descriptions as float32."""
    with torch.enable_grad():
        scores = examples.scores(weight, bias).detach().requires_grad_()
        (slope,) = torch.autograd.grad(term(scores, examples.all_known(scores)), scores)
    return examples.gradient(slope, weight), slope.sum().view(1)


def _viewed(view: View, images: Tensor, first: Tensor) -> Tensor:
    """Not every backbone can look at no image at all: then as many as none of what it saw of the first."""
    return view(images) if len(images) else first[:0]


def _stride(images: int, described: Tensor) -> int:
    """One in so many images takes part: descriptions, [1, C, h, w] of one, may not take more than their share."""
    return max(1, math.ceil(images * described[0].numel() * HALF / MOST_BYTES))
