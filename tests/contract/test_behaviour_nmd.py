"""NMD does what it is for: critics learn to tell cells of two domains apart, and features to keep them from it."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from endotransfer.batch import Batch
from endotransfer.losses.domain_confusion import domain_loss, ramp, scores_of
from endotransfer.methods.base import Memo
from endotransfer.methods.nmd import Nmd, shares_of_classes
from endotransfer.methods.task import Progress
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt
LATE = Progress(stage_step=9, stage_steps=10)  # the ramp is up, and the class term has started


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    return one_batch(make_experiment, "nmd")


@pytest.fixture
def build(make_experiment: Any) -> Any:
    def make(progress: Progress = LATE, task: str = "tagged", epochs: int = 1, **settings: Any) -> Nmd:
        method = build_method(make_experiment, "nmd", task, epochs, **settings)
        assert isinstance(method, Nmd)
        method.progress = progress
        return method

    return make


@torch.no_grad()
def accuracy(method: Nmd, batch: FullBatch) -> float:
    """Of the critic of all cells."""
    outputs = method.forward_both(batch.source.images, batch.target.images)
    source, target = scores_of(method.critics["all"], (outputs[0].features, outputs[1].features))
    return torch.cat([source.argmax(1) == 0, target.argmax(1) == 1]).double().mean().item()


@torch.no_grad()
def class_losses(method: Nmd, batch: FullBatch) -> list[float]:
    """What each class critic is left with; log 2 is chance."""
    on_source, on_target = method.forward_both(batch.source.images, batch.target.images)
    source, target = shares_of_classes(batch.source, on_source, on_target)
    features = on_source.features[: len(source)], on_target.features
    critics = method.critics["classes"]
    assert isinstance(critics, torch.nn.ModuleList)
    return [
        domain_loss(scores_of(critic, features), (source[:, k], target[:, k])).item()
        for k, critic in enumerate(critics)
    ]


def test_critics_alone_learn_to_tell_fixed_features_apart(build: Any, batch: FullBatch) -> None:
    method = build(critic_lr=3e-3, class_critic_lr=3e-3)
    before = {name: value.clone() for name, value in method.segmenter.state_dict().items()}
    train(method, batch, 20, "critic")
    assert accuracy(method, batch) > 0.9
    assert all(loss < 0.5 * math.log(2) for loss in class_losses(method, batch))
    assert all(torch.equal(before[name], value) for name, value in method.segmenter.state_dict().items())


def test_confusion_takes_the_critics_towards_chance(build: Any, batch: FullBatch) -> None:
    """The segmenter's steps are small, so that critics which nothing confuses can follow its features."""
    reached, left = {}, {}
    for weight in (3.0, NOTHING):
        method = build(weight=weight, class_weight=weight, critic_lr=3e-3, class_critic_lr=3e-3)
        train(method, batch, 30, "net", "critic", lr=2e-4)
        reached[weight], left[weight] = accuracy(method, batch), sum(class_losses(method, batch))
    assert reached[NOTHING] > 0.9
    assert reached[3.0] - 0.5 < 0.75 * (reached[NOTHING] - 0.5)
    assert left[3.0] > 2 * left[NOTHING]


def test_losses_are_the_recipes(build: Any, batch: FullBatch) -> None:
    """With critics that say 0 (one half) every cross-entropy is log 2, in every cell and for every class."""
    method = build()
    for module in method.critics.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.zeros_(module.weight)
    masks = batch.source.masks.clone()
    masks[:, :2] = torch.tensor([0, 1])[:, None]  # both classes in every image
    source = replace(batch.source, masks=masks)
    memo: Memo = {}
    terms = method.losses("net", Batch(source, batch.target), memo)
    assert set(terms) == {
        "segmentation_source", "classification_source", "classification_target", "adversarial_all",
        "adversarial_classes",
    }  # fmt: skip
    assert terms["adversarial_all"].item() == pytest.approx(0.05 * ramp(0.9, 0.4) * math.log(2))
    risen = 0.05 * ramp(0.9 - 1 / 3, 0.4)
    assert terms["adversarial_classes"].item() == pytest.approx(2 * risen * math.log(2), rel=1e-3)
    critic_terms = {name: value.item() for name, value in method.losses("critic", batch, memo).items()}
    assert critic_terms == pytest.approx({"critic_all": math.log(2), "critic_classes": 2 * math.log(2)}, rel=1e-3)
    assert not any(part.requires_grad for pair in memo.values() for part in pair)


def weights_at(build: Any, step: int, **settings: float) -> dict[str, float]:
    """After so many of the original's 3,000 steps of adaptation."""
    weights: dict[str, float] = build(Progress(stage_step=step, stage_steps=3000), **settings).transfer_weights()
    return weights


def original_ramp(steps: int) -> float:
    return 0.05 * (2 / (1 + math.exp(-10 * steps / 1200)) - 1)


def test_the_weights_rise_from_the_end_of_the_warm_up_and_the_class_term_starts_late(build: Any) -> None:
    assert weights_at(build, 0) == {"all": 0}
    assert weights_at(build, 999) == {"all": pytest.approx(original_ramp(999))}


def test_the_class_terms_ramp_begins_where_the_term_does(build: Any) -> None:
    assert weights_at(build, 1000)["classes"] == 0  # it jumped to its full weight before
    late = weights_at(build, 1300)
    assert late == pytest.approx({"all": original_ramp(1300), "classes": original_ramp(300)})
    assert late["classes"] < 0.9 * late["all"]
    assert weights_at(build, 3000)["classes"] == pytest.approx(0.05, rel=1e-3)


def test_one_weight_stands_for_both_terms_unless_two_are_given(build: Any) -> None:
    assert weights_at(build, 2999, weight=0.5)["classes"] == pytest.approx(0.5, rel=1e-3)
    assert weights_at(build, 2999, weight=0.5, class_weight=0.1)["classes"] == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize(("epochs", "warmup"), [(1, 0), (2, 1), (3, 1), (8, 2), (10, 2), (40, 10)])
def test_it_starts_from_a_network_that_segments_the_source(build: Any, epochs: int, warmup: int) -> None:
    stages = build(epochs=epochs).stages()
    assert [stage.epochs for stage in stages if stage.name == "warm-up"] == [warmup] * (warmup > 0)
    assert sum(stage.epochs for stage in stages) == epochs
    assert stages[-1].phases == ("net", "critic") and stages[-1].target
    assert all(stage.phases == ("net",) and stage.target for stage in stages[:-1])


def test_before_its_start_the_class_term_trains_its_critics_and_nothing_else(build: Any, batch: FullBatch) -> None:
    method = build(Progress(stage_step=1, stage_steps=10))
    memo: Memo = {}
    assert "adversarial_classes" not in method.losses("net", batch, memo)
    assert "critic_classes" in method.losses("critic", batch, memo)


def test_source_images_without_masks_are_left_out_of_the_class_term_alone(build: Any, batch: FullBatch) -> None:
    fewer = replace(batch.source, masks=batch.source.masks[:1])
    method = build()
    memo: Memo = {}
    method.losses("net", Batch(fewer, batch.target), memo)
    assert len(memo["features"][0]) == len(fewer.images) and len(memo["shares"][0]) == 1
    assert all(value.isfinite() for value in method.losses("critic", batch, memo).values())


def test_there_is_a_critic_a_class_and_a_switched_off_part_does_not_exist(build: Any) -> None:
    assert len(build().critics["classes"]) == 2 and len(build(task="untagged").critics["classes"]) == 5
    assert set(build(class_weight=0).critics) == {"all"}
    assert set(build(weight=0, class_weight=0.1).critics) == {"classes"}
    nothing = build(weight=0)
    assert not hasattr(nothing, "critics") and nothing.stages()[0].phases == ("net",)
    assert build().stages()[0].phases == ("net", "critic")
    rates = [group["lr"] for group in build().optimiser("critic").param_groups]
    assert rates == [1e-3, 2e-3] and build().optimiser("net") is None
