"""FCNs in the Wild do what they are for: the critic is confused, and sizes on the target move into their bounds."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, SegOutput, SourceBatch
from endotransfer.losses.domain_confusion import ramp, scores_of
from endotransfer.methods.base import Memo
from endotransfer.methods.task import Progress
from endotransfer.methods.wild import Wild
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt
both_forms = pytest.mark.parametrize("form", ["dual", "penalty"])


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """One batch, half of whose target images are tagged lesion."""
    batch = one_batch(make_experiment, "wild")
    batch.target.tags = torch.tensor([NORMAL, LESION, NORMAL, LESION])
    return batch


@pytest.fixture
def build(make_experiment: Any, batch: FullBatch) -> Any:
    def make(task: str = "tagged", epochs: int = 1, **settings: Any) -> Wild:
        method = build_method(make_experiment, "wild", task, epochs, **settings)
        assert isinstance(method, Wild)
        method.progress = Progress(stage_step=9, stage_steps=10)  # the ramp is up
        return method

    return make


@torch.no_grad()
def lesion_sizes(method: Wild, batch: FullBatch) -> Tensor:
    """Mean probability of a lesion on each target image."""
    output: SegOutput = method.segmenter(batch.target.images, domain="target")
    return output.logits.softmax(1)[:, LESION].mean((1, 2))


@torch.no_grad()
def accuracy(method: Wild, batch: FullBatch) -> float:
    outputs = method.forward_both(batch.source.images, batch.target.images)
    source, target = scores_of(method.critic, (outputs[0].features, outputs[1].features))
    return torch.cat([source.argmax(1) == 0, target.argmax(1) == 1]).double().mean().item()


def test_confusion_takes_the_critic_towards_chance(build: Any, batch: FullBatch) -> None:
    """The segmenter's steps are small, so that a critic which nothing confuses can follow its features."""
    reached = {}
    for weight in (10.0, NOTHING):
        method = build(weight=weight, size_weight=0, critic_lr=3e-3)
        train(method, batch, 30, "net", "critic", lr=2e-4)
        reached[weight] = accuracy(method, batch)
    assert reached[NOTHING] > 0.9
    assert reached[10.0] - 0.5 < 0.75 * (reached[NOTHING] - 0.5)


@both_forms
def test_predicted_sizes_move_into_the_bounds_that_the_tags_choose(build: Any, batch: FullBatch, form: str) -> None:
    reached = {}
    for weight in (10.0, NOTHING):
        method = build(weight=0, size_weight=weight, sizes=form, large=1.0)
        method.size_statistics.copy_(torch.tensor([[0.0, 0.2], [0.0, 0.3], [1.0, 0.4]]))
        train(method, batch, 60, "net", lr=3e-3)
        reached[weight] = lesion_sizes(method, batch)
    normal, lesion = reached[10.0][::2], reached[10.0][1::2]
    assert (normal < 0.05).all()
    assert (lesion > 0.25).all() and (lesion < 0.45).all()
    outside = (reached[NOTHING][1::2] - 0.35).abs()
    assert (outside > 0.1).any() or (reached[NOTHING][::2] > 0.05).any()


def test_the_source_images_give_the_bounds(build: Any) -> None:
    method = build()
    assert method.size_statistics[:, LESION].tolist() == [0, 0, 1]  # free, until prepared
    masks = torch.zeros(4, 32, 32, dtype=torch.int64)
    for image, rows in zip(masks, (4, 8, 16, 0), strict=True):  # the last has no lesion and counts for nothing
        image[:rows] = LESION
    method.prepare([SourceBatch(torch.zeros(2, 3, 32, 32), half, None) for half in torch.split(masks, 2)], None)
    sizes = np.array([4, 8, 16]) / 32
    expected = [np.percentile(sizes, 10), sizes.mean(), np.percentile(sizes, 90)]
    assert method.size_statistics[:, LESION].tolist() == pytest.approx(expected)
    assert method.size_statistics[:, NORMAL].tolist() == [0, 0, 1]  # tags: normal tissue takes what lesions leave
    assert "size_statistics" in method.state_dict()


def test_without_tags_every_class_has_its_bounds(build: Any, make_experiment: Any) -> None:
    batch = one_batch(make_experiment, "wild", "untagged")
    method = build("untagged")
    method.prepare([batch.source], None)
    assert method.size_statistics.shape == (3, 5)
    fractions = np.stack([(batch.source.masks == 0).double().mean((1, 2)).numpy()])
    assert method.size_statistics[1, 0].item() == pytest.approx(fractions[fractions > 0].mean())
    assert all(value.isfinite() for value in method.losses("net", batch, {}).values())


def test_losses_are_the_recipes(build: Any, batch: FullBatch) -> None:
    """With a critic that says 0 (one half) every cross-entropy is log 2."""
    method = build()
    torch.nn.init.zeros_(method.critic.layers[-1].weight)
    memo: Memo = {}
    terms = method.losses("net", batch, memo)
    assert set(terms) == {
        "segmentation_source", "classification_source", "classification_target", "adversarial", "sizes",
    }  # fmt: skip
    assert terms["adversarial"].item() == pytest.approx(ramp(0.9, 0.6) * math.log(2))
    with torch.no_grad():
        logits = method.segmenter(batch.target.images).logits
    expected = 0.1 * method.size_loss(logits, batch.target.tags)
    assert terms["sizes"].item() == pytest.approx(expected.item(), rel=1e-5)
    assert method.losses("critic", batch, memo)["critic"].item() == pytest.approx(math.log(2))
    assert not any(part.requires_grad for part in memo["features"])
    method.progress = Progress(step=90, steps=100, stage_step=0, stage_steps=10)  # the ramp begins with its stage
    assert method.losses("net", batch, memo)["adversarial"].item() == 0


@pytest.mark.parametrize(("epochs", "warmup"), [(1, 0), (2, 1), (3, 1), (8, 2)])
def test_it_starts_from_a_network_that_segments_the_source(build: Any, epochs: int, warmup: int) -> None:
    stages = build(epochs=epochs).stages()
    assert [(stage.epochs, stage.phases) for stage in stages[:-1]] == [(warmup, ("net",))][:warmup]
    assert (stages[-1].epochs, stages[-1].phases) == (epochs - warmup, ("net", "critic"))


def size_gradient(method: Wild, statistics: Tensor, tags: Tensor | None) -> Tensor:
    """Of the size loss by random logits of two images, [2, K, 4, 4]."""
    method.size_statistics.copy_(statistics)
    classes = statistics.shape[1]
    logits = torch.randn(2, classes, 4, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    method.size_loss(logits, tags).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    return logits.grad


@both_forms
def test_large_classes_pull_a_tenth(build: Any, form: str) -> None:
    """Only one class's upper bound is above 0.1 here, so only its channel's gradient is scaled."""
    statistics = torch.tensor([[0.01] * 5, [0.02] * 5, [0.05, 0.2, 0.05, 0.05, 0.05]])
    whole, scaled = (
        size_gradient(build("untagged", sizes=form, large_gradient=share), statistics, None) for share in (1.0, 0.1)
    )
    others = [0, 2, 3, 4]
    torch.testing.assert_close(scaled[:, others], whole[:, others])
    torch.testing.assert_close(scaled[:, 1], 0.1 * whole[:, 1])
    assert whole[:, 1].abs().max() > 0


@both_forms
def test_of_two_classes_none_is_large(build: Any, form: str) -> None:
    """Normal tissue, which may take all of an image, and a lesion's usual size are both above 0.1."""
    statistics = torch.tensor([[0.0, 0.1], [0.0, 0.3], [1.0, 0.4]])
    tags = torch.tensor([LESION, NORMAL])
    whole, default = (size_gradient(build(sizes=form, **scale), statistics, tags) for scale in ({"large": 1.0}, {}))
    torch.testing.assert_close(default, whole)
    assert whole.abs().max() > 0


def test_a_switched_off_part_does_not_exist(build: Any, batch: FullBatch) -> None:
    alone = build(weight=0)
    assert not hasattr(alone, "critic") and alone.stages()[0].phases == ("net",)
    assert "adversarial" not in alone.losses("net", batch, {})
    assert "sizes" not in build(size_weight=0).losses("net", batch, {})
    assert build().stages()[0].phases == ("net", "critic")
    assert build().optimiser("critic").param_groups[0]["lr"] == 1e-3 and build().optimiser("net") is None
