"""WeakSegDA does what it is for: image scores follow the tags, and class features of the target pass for source."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, Batch
from endotransfer.losses.weak_labels import smooth_max, weak_labels
from endotransfer.methods.base import Memo
from endotransfer.methods.weak_seg_da import WeakSegDa
from tests.contract.behaviour import FullBatch, one_batch, train, zero_last_layer
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """One batch, half of whose target images are tagged lesion."""
    batch = one_batch(make_experiment, "weak_seg_da")
    batch.target.tags = torch.tensor([NORMAL, LESION, NORMAL, LESION])
    return batch


@pytest.fixture
def build(make_experiment: Any) -> Any:
    def make(task: str = "tagged", **settings: Any) -> WeakSegDa:
        method = build_method(make_experiment, "weak_seg_da", task, **settings)
        assert isinstance(method, WeakSegDa)
        return method

    return make


@torch.no_grad()
def scores(method: WeakSegDa, batch: FullBatch) -> Tensor:
    """Probability of each class in each target image."""
    return smooth_max(method.segmenter(batch.target.images, domain="target").logits).sigmoid()


@torch.no_grad()
def critics_loss(method: WeakSegDa, batch: FullBatch) -> float:
    """What the class critics are left with; log 2 is chance."""
    memo: Memo = {}
    method.losses("net", batch, memo)
    return method.losses("critic", batch, memo)["critic_classes"].item()


def test_image_scores_learn_the_tags(build: Any, batch: FullBatch) -> None:
    """And only by their own term: without it nothing asks the scores, which are no softmax, for anything."""
    wrong = {}
    for weight in (1.0, NOTHING):
        method = build(tag_weight=weight, weight=0, class_weight=0)
        train(method, batch, 25, "net", lr=4e-3)
        found = scores(method, batch)
        present = weak_labels(found.logit(), batch.target.tags)
        wrong[weight] = (found - present.double()).abs().mean().item()
    assert wrong[1.0] < 0.25
    assert wrong[1.0] < 0.7 * wrong[NOTHING]


def test_class_critics_alone_learn_to_tell_fixed_features_apart(build: Any, batch: FullBatch) -> None:
    method = build(weight=0, critic_lr=1e-2)
    before = {name: value.clone() for name, value in method.segmenter.state_dict().items()}
    assert critics_loss(method, batch) == pytest.approx(math.log(2), abs=0.1)
    train(method, batch, 80, "critic")
    assert critics_loss(method, batch) < 0.3 * math.log(2)
    assert all(torch.equal(before[name], value) for name, value in method.segmenter.state_dict().items())


def test_class_features_of_the_target_learn_to_pass_for_source(build: Any, batch: FullBatch) -> None:
    """Against critics that know them apart and stand still."""
    fooled = {}
    for weight in (1.0, NOTHING):
        method = build(class_weight=weight, weight=0, tag_weight=0, critic_lr=1e-2)
        train(method, batch, 80, "critic")
        train(method, batch, 8, "net")
        with torch.no_grad():
            fooled[weight] = method.losses("net", batch, {})["adversarial_classes"].item() / weight
    assert fooled[NOTHING] > math.log(2) > fooled[1.0]
    assert fooled[1.0] < 0.5 * fooled[NOTHING]


def test_losses_are_the_recipes(build: Any, batch: FullBatch) -> None:
    """With critics that say 0 (one half) every cross-entropy is log 2, whichever classes are there."""
    method = build()
    for critic in (method.critic, method.class_critics):
        zero_last_layer(critic)
    memo: Memo = {}
    terms = method.losses("net", batch, memo)
    assert set(terms) == {
        "segmentation_source", "classification_source", "classification_target", "weak_labels", "adversarial",
        "adversarial_classes",
    }  # fmt: skip
    assert terms["adversarial"].item() == pytest.approx(0.001 * math.log(2))
    assert terms["adversarial_classes"].item() == pytest.approx(0.001 * math.log(2))
    found, present = scores(method, batch), torch.tensor([[1.0, 0.0], [1.0, 1.0]]).repeat(2, 1)
    expected = -torch.where(present > 0, found.log(), (1 - found).log()).mean().item()
    assert terms["weak_labels"].item() == pytest.approx(0.2 * expected, rel=1e-4)
    critic_terms = {name: value.item() for name, value in method.losses("critic", batch, memo).items()}
    assert critic_terms == pytest.approx({"critic": math.log(2), "critic_classes": math.log(2)})
    (of_source, in_source), (of_target, in_target) = memo["classes"]
    assert not of_source.requires_grad and not of_target.requires_grad
    assert torch.equal(in_target, present.bool())
    assert in_source.tolist() == [[bool((mask == k).any()) for k in range(2)] for mask in batch.source.masks]


def test_only_classes_that_the_tags_name_are_aligned(build: Any, batch: FullBatch) -> None:
    """Where every image is tagged normal the critic of lesions gives the segmenter no gradient."""
    normal = Batch(batch.source, replace(batch.target, tags=torch.full((4,), NORMAL)))
    for tagged, touched in ((normal, False), (batch, True)):
        method = build()
        term = method.losses("net", tagged, {})["adversarial_classes"]
        weight = method.class_critics.layers[-1].weight
        (slope,) = torch.autograd.grad(term, weight)
        assert slope[NORMAL].any() and bool(slope[LESION].any()) == touched


def test_without_tags_the_model_s_own_scores_are_the_weak_labels(build: Any, make_experiment: Any) -> None:
    batch = one_batch(make_experiment, "weak_seg_da", "untagged")
    method = build("untagged", threshold=0.5)
    found = scores(method, batch)
    assert (found > 0.5).any() and (found < 0.5).any()
    memo: Memo = {}
    terms = method.losses("net", batch, memo)
    expected = -torch.where(found > 0.5, found.log(), (1 - found).log()).mean().item()
    assert terms["weak_labels"].item() == pytest.approx(0.01 * expected, rel=1e-4)
    assert torch.equal(memo["classes"][1][1], found > 0.5)


def test_a_switched_off_part_does_not_exist(build: Any, batch: FullBatch) -> None:
    alone = build(weight=0, class_weight=0, tag_weight=0)
    assert not hasattr(alone, "critic") and not hasattr(alone, "class_critics")
    assert [stage.phases for stage in alone.stages()] == [("net",)]
    assert set(alone.losses("net", batch, {})) == {
        "segmentation_source", "classification_source", "classification_target",
    }  # fmt: skip
    assert build(class_weight=0).phases["critic"] == ("critic",)
    assert build(weight=0).phases["critic"] == ("class_critics",)
    assert build().optimiser("critic").param_groups[0]["lr"] == 1e-4 and build().optimiser("net") is None


def test_it_warms_up_before_it_aligns(build: Any) -> None:
    method = build()
    method.task = replace(method.task, epochs=5)
    warm, adapt = method.stages()
    assert (warm.epochs, warm.target, warm.phases) == (1, True, ("net",))
    assert (adapt.epochs, adapt.target, adapt.phases) == (4, True, ("net", "critic"))
