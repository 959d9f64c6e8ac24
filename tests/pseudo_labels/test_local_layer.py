"""The linear layer on local features: its fit against plain autograd, and whose examples it sees."""

from collections.abc import Callable, Iterator
from typing import cast

import pytest
import torch
from torch import Tensor
from torch.optim import AdamW

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG, PassBatch, SourceBatch
from endotransfer.pseudo_labels import local_layer
from endotransfer.pseudo_labels.local_layer import (
    Examples,
    fit,
    source_examples,
    source_loss,
    target_examples,
    target_loss,
)
from endotransfer.pseudo_labels.target_set import TargetSet

Described = tuple[Tensor, Tensor]  # descriptions, and what is known of them
Job = Callable[[int, int], Examples]
EachProcess = Callable[[Job], list[Described]]

CHANNELS, PLACES = 5, 20


def examples(seed: int) -> tuple[Described, Described]:
    """Random descriptions of six source and seven target images, in float64."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randn(6, PLACES, CHANNELS, generator=generator, dtype=torch.float64)
    target = torch.randn(7, PLACES, CHANNELS, generator=generator, dtype=torch.float64)
    masks = torch.tensor([NORMAL, LESION, IGNORE])[torch.randint(0, 3, (6, PLACES), generator=generator)]
    tags = torch.tensor([NORMAL, LESION, UNKNOWN_TAG, LESION, NORMAL, LESION, NORMAL])
    return (source, masks), (target, tags)


def fitted(source: Described, target: Described, steps: int, lr: float) -> tuple[Tensor, Tensor]:
    """The fit of plain tensors, in batches of four."""
    some, others = (
        Examples([*torch.split(described, 4)], [*torch.split(known, 4)]) for described, known in (source, target)
    )
    return fit(some, others, steps, lr)


def literal_fit(source: Described, target: Described, steps: int, lr: float) -> tuple[Tensor, Tensor]:
    """One layer, one graph, one backward a step."""
    layer = torch.nn.Linear(CHANNELS, 1).double()
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimiser = AdamW(layer.parameters(), lr=lr)
    for step in range(steps):
        loss = source_loss(layer(source[0]).squeeze(-1), source[1])
        if step >= steps / 4:
            loss = loss + target_loss(layer(target[0]).squeeze(-1), target[1])
        optimiser.param_groups[0]["lr"] = lr * (1 - step / steps) ** 0.9
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
    return layer.weight.detach()[0], layer.bias.detach()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", [1, 3, 20])
def test_the_fit_equals_plain_autograd(seed: int, steps: int) -> None:
    source, target = examples(seed)
    for mine, plain in zip(fitted(source, target, steps, 0.05), literal_fit(source, target, steps, 0.05), strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-9, atol=1e-12)


def test_the_fit_works_where_nothing_is_differentiated() -> None:
    source, target = examples(0)
    with torch.no_grad():
        weight, _ = fitted(source, target, 5, 0.05)
    assert weight.abs().sum() > 0 and not weight.requires_grad


def test_the_order_of_places_does_not_matter() -> None:
    """While all scores are alike the likeliest places are whichever come first: so none may count then."""
    source, target = examples(0)
    order = torch.randperm(PLACES, generator=torch.Generator().manual_seed(1))
    turned = (source[0][:, order], source[1][:, order]), (target[0][:, order], target[1])
    for one, other in zip(fitted(source, target, 40, 0.05), fitted(*turned, 40, 0.05), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_the_first_quarter_is_the_sources_alone() -> None:
    source, target = examples(0)
    shouting = (100 * target[0], target[1])
    after = [fitted(source, some, 4, 0.05)[0] for some in (target, shouting)]
    assert not torch.equal(*after)
    first = [fitted(source, some, 1, 0.05)[0] for some in (target, shouting)]
    assert torch.equal(*first)


def test_descriptions_in_half_precision_teach_the_same() -> None:
    source, target = examples(0)
    exact = fitted(source, target, 20, 0.05)[0]
    rounded = fitted((source[0].half(), source[1]), (target[0].half(), target[1]), 20, 0.05)[0]
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded.double(), exact, rtol=0.02, atol=0.01)


def test_a_process_without_target_images_learns_from_the_source() -> None:
    source, target = examples(0)
    alone = fit(Examples([source[0]], [source[1]]), Examples(), 4, 0.05)[0]
    unknown = (target[0], torch.full_like(target[1], UNKNOWN_TAG))
    torch.testing.assert_close(alone, fitted(source, unknown, 4, 0.05)[0])


# -- whose examples it sees -------------------------------------------------------------------------------------------


def view(images: Tensor) -> Tensor:
    """Two channels at half the size; the first names the image.  Like some backbones it cannot look at no image."""
    assert len(images)
    return images[:, :2, ::2, ::2]


BYTES = 2 * 4 * 4 * 2  # of an image's description


def named_images(names: list[int], side: int = 8) -> Tensor:
    return torch.tensor(names).float().view(-1, 1, 1, 1).expand(-1, 3, side, side)


class Source:
    """Images 0 to 9 with masks, in batches of four that end with an image without a mask."""

    def __iter__(self) -> Iterator[SourceBatch]:
        for first in range(0, 10, 4):
            names = list(range(first, min(first + 4, 10)))
            masks = torch.zeros(len(names), 8, 8, dtype=torch.uint8)
            masks[:, :4] = torch.tensor(names).view(-1, 1, 1).to(torch.uint8)
            yield SourceBatch(named_images([*names, 99]), masks, None, [str(name) for name in names])


class Target:
    """What is read of a target set: every `world_size`-th of ten images, in batches of three; odd ones are lesions."""

    def __init__(self, rank: int, world_size: int, tags: bool = True) -> None:
        self.names, self.tags, self.total = list(range(rank, 10, world_size)), tags, 10

    def after(self, batches: int) -> Iterator[PassBatch]:
        for first in range(3 * batches, len(self.names), 3):
            names = self.names[first : first + 3]
            tags = torch.tensor(names) % 2 if self.tags else None
            yield PassBatch(named_images(names), tags, [str(name) for name in names])


@pytest.fixture(params=[1, 2, 3])
def processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> EachProcess:
    """As if this were each process of several in turn."""

    def in_each(job: Job) -> list[Described]:
        found = []
        for rank in range(request.param):
            monkeypatch.setattr(local_layer, "rank", lambda rank=rank: rank)
            monkeypatch.setattr(local_layer, "world_size", lambda: request.param)
            made = job(rank, request.param)
            found.append((torch.cat(made.described), torch.cat(made.known)))
        return found

    return in_each


@pytest.mark.parametrize("room, kept", [(2000, list(range(10))), (5, [0, 2, 4, 6, 8]), (3, [0, 4, 8])])
def test_every_example_is_in_one_process_however_many_there_are(
    processes: EachProcess, monkeypatch: pytest.MonkeyPatch, room: int, kept: list[int]
) -> None:
    monkeypatch.setattr(local_layer, "MOST_BYTES", room * BYTES)
    sources = processes(lambda *_: source_examples(view, Source(), 10))
    targets = processes(lambda *them: target_examples(view, cast(TargetSet, Target(*them))))
    for found in (sources, targets):
        assert sorted(name for described, _ in found for name in described[:, 0, 0].int().tolist()) == kept
        assert sum(described.nbytes for described, _ in found) <= room * BYTES
    for described, masks in sources:
        assert described.shape[1:] == (16, 2) and masks.shape[1:] == (16,)
        assert torch.equal(masks[:, :8].int(), described[:, :8, 0].int())  # the upper half, row by row
        assert not masks[:, 8:].any()
    for described, tags in targets:
        assert torch.equal(tags, described[:, 0, 0].long() % 2)


def test_without_tags_nothing_is_known_of_the_target() -> None:
    assert (
        torch.cat(target_examples(view, cast(TargetSet, Target(0, 1, tags=False))).known).tolist() == [UNKNOWN_TAG] * 10
    )


@pytest.mark.parametrize("dtype, kept", [(torch.float32, torch.float16), (torch.float64, torch.float64)])
def test_descriptions_are_kept_in_half_precision_unless_all_digits_were_asked_for(
    dtype: torch.dtype, kept: torch.dtype
) -> None:
    examples = Examples()
    examples.add(torch.rand(2, 3, 4, 5, dtype=dtype), torch.zeros(2))
    assert examples.described[0].dtype == kept and examples.described[0].shape == (2, 20, 3)
    assert examples.described[0].is_contiguous()  # or every product with the weight would make a copy first
