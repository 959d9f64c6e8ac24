"""On a GPU: the same numbers as on the CPU, and no step that makes the host wait."""

import pytest
import torch
from torch import Tensor

from endotransfer.losses.adversarial import critic_loss
from endotransfer.losses.centroids import Centroids, alignment, class_sums, labels_at
from endotransfer.losses.cross_entropy import classification, segmentation
from endotransfer.losses.tag_loss import tag_loss
from endotransfer.pseudo_labels import vote
from endotransfer.pseudo_labels.assign import assign
from endotransfer.pseudo_labels.rules import veto
from endotransfer.pseudo_labels.thresholds import ThresholdState
from endotransfer.pseudo_labels.vote import vote_superpixels, vote_synchronously

Maps = dict[str, Tensor]

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.fixture
def batch() -> Maps:
    """Logits, labels with gaps, super-pixels, features and tags of four small images, on the CPU."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 4, (4, 32, 32), generator=generator).clamp(max=2)
    return {
        "logits": torch.randn(4, 2, 32, 32, generator=generator) * 20,
        "labels": torch.where(labels == 2, 255, labels),
        "superpixels": torch.randint(0, 2, (4, 32, 32), generator=generator),
        "features": torch.randn(4, 8, 8, 8, generator=generator),
        "tags": torch.tensor([0, 1, -1, 0]),
    }


def steps(batch: Maps) -> Maps:
    """What a training step does, and the vote; every result must be free of waits."""
    logits, labels, tags = batch["logits"], batch["labels"], batch["tags"]
    with torch.device(logits.device):  # moving it there would wait
        centroids = Centroids(2, 8)
    current = centroids(*class_sums(batch["features"], labels_at(labels, (8, 8)), 2), 256)
    return {
        "segmentation": segmentation(logits, labels),
        "classification": classification(logits[:, :, 0, 0], tags),
        "tags": tag_loss(logits, tags, labels),
        "veto": veto(labels, tags),
        "alignment": alignment(current, current + 1, 0.5, centroids.seen),
        "votes": vote_synchronously(labels, batch["superpixels"], 2, 2),
    }


def on_gpu(batch: Maps) -> Maps:
    return {name: values.cuda() for name, values in batch.items()}


def test_results_equal_those_of_the_cpu(batch: Maps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vote, "MIN_SHARE", 0.1)  # a quarter of the pixels carries each label
    for name, (here, there) in {k: (v, steps(on_gpu(batch))[k].cpu()) for k, v in steps(batch).items()}.items():
        torch.testing.assert_close(there, here, msg=name)
    filled = [vote_superpixels(b["labels"], b["superpixels"], 2).cpu() for b in (batch, on_gpu(batch))]
    assert torch.equal(*filled)


@pytest.mark.parametrize("classes", [1, 2, 5, 19])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 7, 5), (2, 33, 64)])
def test_the_vote_in_one_launch_equals_that_of_the_cpu(
    classes: int, dtype: torch.dtype, shape: tuple[int, int, int]
) -> None:
    generator = torch.Generator().manual_seed(classes)
    for _ in range(20):
        labels = torch.randint(0, classes + 2, shape, generator=generator)
        labels = torch.where(labels >= classes, 255, labels).to(dtype)
        superpixels = torch.randint(0, 2, shape, generator=generator) * torch.randint(0, 2, (), generator=generator)
        here, there = (
            vote_synchronously(a, b, classes, 2)
            for a, b in ((labels, superpixels), (labels.cuda(), superpixels.cuda()))
        )
        assert there.dtype == dtype
        assert torch.equal(here, there.cpu())


def test_counting_thresholds_and_assignment_equal_those_of_the_cpu(batch: Maps) -> None:
    states = [ThresholdState(2, device=device) for device in ("cpu", "cuda")]
    for state, device in zip(states, ("cpu", "cuda"), strict=True):
        state.update(batch["logits"].to(device))
    assert torch.equal(states[0].sums, states[1].sums.cpu())
    thresholds = [state.thresholds(0.3).cpu() for state in states]
    torch.testing.assert_close(*thresholds)
    assert torch.equal(assign(batch["logits"], thresholds[0]), assign(batch["logits"].cuda(), thresholds[0]).cpu())


def test_nothing_makes_the_host_wait(batch: Maps) -> None:
    there, state = on_gpu(batch), ThresholdState(2, device="cuda")
    scores = torch.randn(4, 1, 2, 2, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        state.update(there["logits"])
        steps(there)
        critic_loss(scores, scores)
    finally:
        torch.cuda.set_sync_debug_mode("default")
