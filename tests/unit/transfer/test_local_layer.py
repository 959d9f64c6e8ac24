"""The linear layer of local evidence: its fit against plain autograd, and whose examples it sees."""

import pytest
import torch
from torch.optim import AdamW

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG, PassBatch, SourceBatch
from endotransfer.transfer import local_layer
from endotransfer.transfer.evidence import source_evidence, target_evidence
from endotransfer.transfer.local_layer import fit, source_examples, target_examples

CHANNELS, PLACES = 5, 20


def examples(seed):
    """Random descriptions of six source and seven target images, in float64."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randn(6, PLACES, CHANNELS, generator=generator, dtype=torch.float64)
    target = torch.randn(7, PLACES, CHANNELS, generator=generator, dtype=torch.float64)
    masks = torch.tensor([NORMAL, LESION, IGNORE])[torch.randint(0, 3, (6, PLACES), generator=generator)]
    tags = torch.tensor([NORMAL, LESION, UNKNOWN_TAG, LESION, NORMAL, LESION, NORMAL])
    return (source, masks), (target, tags)


def literal_fit(source, target, steps, lr):
    """One layer, one graph, one backward a step."""
    layer = torch.nn.Linear(CHANNELS, 1).double()
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimiser = AdamW(layer.parameters(), lr=lr)
    for step in range(steps):
        loss = source_evidence(layer(source[0]).squeeze(-1), source[1])
        if step >= steps / 4:
            loss = loss + target_evidence(layer(target[0]).squeeze(-1), target[1])
        optimiser.param_groups[0]["lr"] = lr * (1 - step / steps) ** 0.9
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return layer.weight.detach()[0], layer.bias.detach()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", [1, 3, 20])
def test_the_fit_equals_plain_autograd(seed, steps):
    source, target = examples(seed)
    for mine, plain in zip(fit(source, target, steps, 0.05), literal_fit(source, target, steps, 0.05), strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-9, atol=1e-12)


def test_the_fit_works_where_nothing_is_differentiated():
    source, target = examples(0)
    with torch.no_grad():
        weight, _ = fit(source, target, 5, 0.05)
    assert weight.abs().sum() > 0 and not weight.requires_grad


def test_the_order_of_places_does_not_matter():
    """While all scores are alike the likeliest places are whichever come first: so none may count then."""
    source, target = examples(0)
    order = torch.randperm(PLACES, generator=torch.Generator().manual_seed(1))
    turned = [(source[0][:, order], source[1][:, order]), (target[0][:, order], target[1])]
    for one, other in zip(fit(source, target, 40, 0.05), fit(*turned, 40, 0.05), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_the_first_quarter_is_the_sources_alone():
    source, target = examples(0)
    shouting = (100 * target[0], target[1])
    after = [fit(source, some, 4, 0.05)[0] for some in (target, shouting)]
    assert not torch.equal(*after)
    first = [fit(source, some, 1, 0.05)[0] for some in (target, shouting)]
    assert torch.equal(*first)


# -- whose examples it sees -------------------------------------------------------------------------------------------


def view(images):
    """Two channels at half the size; the first names the image."""
    return images[:, :2, ::2, ::2]


def named_images(names, side=8):
    return torch.tensor(names).float().view(-1, 1, 1, 1).expand(-1, 3, side, side)


class Source:
    """Images 0 to 9 with masks, in batches of four that end with an image without a mask."""

    def __iter__(self):
        for first in range(0, 10, 4):
            names = list(range(first, min(first + 4, 10)))
            masks = torch.zeros(len(names), 8, 8, dtype=torch.uint8)
            masks[:, :4] = torch.tensor(names).view(-1, 1, 1).to(torch.uint8)
            yield SourceBatch(named_images([*names, 99]), masks, None, [str(name) for name in names])


class Target:
    """Every world-th of ten images, in batches of three; odd ones are lesions."""

    def __init__(self, rank, world, tags=True):
        self.names, self.tags = list(range(rank, 10, world)), tags

    def without_images(self):
        return self.after(0)

    def after(self, batches):
        for first in range(3 * batches, len(self.names), 3):
            names = self.names[first : first + 3]
            tags = torch.tensor(names) % 2 if self.tags else None
            yield PassBatch(named_images(names), tags, [str(name) for name in names])


@pytest.fixture(params=[1, 2, 3])
def processes(request, monkeypatch):
    """As if this were each process of several in turn."""

    def in_each(job):
        found = []
        for rank in range(request.param):
            monkeypatch.setattr(local_layer, "rank", lambda rank=rank: rank)
            monkeypatch.setattr(local_layer, "world_size", lambda: request.param)
            monkeypatch.setattr(local_layer, "sum_over_processes", lambda _: torch.tensor(10))
            found.append(job(rank, request.param))
        return found

    return in_each


@pytest.mark.parametrize("most, kept", [(2000, list(range(10))), (5, [0, 2, 4, 6, 8]), (3, [0, 4, 8])])
def test_every_example_is_in_one_process_however_many_there_are(processes, monkeypatch, most, kept):
    monkeypatch.setattr(local_layer, "MOST_IMAGES", most)
    sources = processes(lambda *_: source_examples(view, Source(), 10))
    targets = processes(lambda *them: target_examples(view, Target(*them), torch.device("cpu")))
    for found in (sources, targets):
        assert sorted(name for described, _ in found for name in described[:, 0, 0].int().tolist()) == kept
    for described, masks in sources:
        assert described.shape[1:] == (16, 2) and masks.shape[1:] == (16,)
        assert torch.equal(masks[:, :8].int(), described[:, :8, 0].int())  # the upper half, row by row
        assert not masks[:, 8:].any()
    for described, tags in targets:
        assert torch.equal(tags, described[:, 0, 0].long() % 2)


def test_without_tags_nothing_is_known_of_the_target():
    _, tags = target_examples(view, Target(0, 1, tags=False), torch.device("cpu"))
    assert tags.tolist() == [UNKNOWN_TAG] * 10


@pytest.mark.parametrize("side, rows", [(16, 8), (40, 20), (64, 16), (128, 16)])
def test_places_lie_on_a_grid_of_about_sixteen_rows(side, rows):
    batch = PassBatch(torch.arange(side * side).view(1, 1, side, side).expand(1, 3, -1, -1).float(), None, ["0"])

    class One:
        def without_images(self):
            return [batch]

        def after(self, _):
            return [batch]

    described, _ = target_examples(view, One(), torch.device("cpu"))
    assert described.shape[1] == rows * rows
    seen = described[0, :, 0].view(rows, rows)
    assert (seen.diff(dim=0) == seen[1, 0] - seen[0, 0]).all() and (seen.diff(dim=1) == seen[0, 1] - seen[0, 0]).all()
