"""CGAN does what it is for: the critic learns to tell adapted source from target, the generator to fool it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.losses.adversarial import fooling_loss
from endotransfer.methods.base import Memo
from endotransfer.methods.cgan import Cgan
from endotransfer.methods.task import Progress
from tests.contract.behaviour import FullBatch, one_batch, train, zero_last_layer
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt
STILL = 0.0  # the learning rate of a segmenter that runs and does not learn
Build = Callable[..., Cgan]


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    return one_batch(make_experiment, "cgan")


@pytest.fixture
def build(make_experiment: Any) -> Build:
    def make(task: str = "tagged", **settings: Any) -> Cgan:
        small = {"width": 16, "blocks": 2, "critic_lr": 1e-3, "generator_lr": 1e-3}
        method = build_method(make_experiment, "cgan", task, **(small | settings))
        assert isinstance(method, Cgan)
        return method

    return make


@torch.no_grad()
def scores(method: Cgan, batch: FullBatch) -> tuple[Tensor, Tensor]:
    """The critic's logits of "is target" on adapted source and on target features."""
    memo: Memo = {}
    method.losses("net", batch, memo)
    return method.critic(memo["adapted"]), method.critic(memo["target"])


def accuracy(adapted: Tensor, target: Tensor) -> float:
    return torch.cat([adapted < 0, target > 0]).double().mean().item()


def gap(adapted: Tensor, target: Tensor) -> float:
    return (target.mean() - adapted.mean()).item()


def weights(module: torch.nn.Module) -> list[Tensor]:
    return [value.clone() for value in module.state_dict().values()]


def same(before: list[Tensor], after: list[Tensor]) -> bool:
    return all(torch.equal(*pair) for pair in zip(before, after, strict=True))


def test_a_critic_alone_learns_to_tell_adapted_source_from_target(build: Build, batch: FullBatch) -> None:
    method = build()
    train(method, batch, 25, "critic")
    assert accuracy(*scores(method, batch)) > 0.75


def test_the_generator_learns_to_fool_a_critic_that_stands_still(build: Build, batch: FullBatch) -> None:
    before, after = {}, {}
    for weight in (1.0, NOTHING):
        method = build(weight=weight)
        train(method, batch, 25, "critic")
        before[weight] = fooling_loss(-scores(method, batch)[0]).item()
        segmenter = weights(method.segmenter)
        train(method, batch, 15, "generator")
        assert same(segmenter, weights(method.segmenter))
        after[weight] = fooling_loss(-scores(method, batch)[0]).item()
    assert before[1.0] == before[NOTHING]
    assert after[1.0] < 0.5 * before[1.0]
    assert after[1.0] < 0.5 * after[NOTHING]


def test_with_a_fooling_generator_the_critic_can_tell_less(build: Build, batch: FullBatch) -> None:
    found = {}
    for weight in (1.0, NOTHING):
        method = build(weight=weight)
        train(method, batch, 40, "net", "critic", "generator", lr=STILL)  # whatever is won, the generator won it
        found[weight] = scores(method, batch)
    assert accuracy(*found[1.0]) < accuracy(*found[NOTHING]) - 0.1
    assert gap(*found[1.0]) < 0.5 * gap(*found[NOTHING])


def figures(method: Cgan, batch: FullBatch) -> dict[str, float]:
    """Of a step, as they would be logged."""
    memo: Memo = {}
    for phase in method.phases:
        method.losses(phase, batch, memo)
    with torch.no_grad():
        return {name: value.item() for name, value in method.figures(memo).items()}


def test_the_log_tells_whether_the_generator_does_anything(build: Build, batch: FullBatch) -> None:
    method = build(weight=1.0)
    zero_last_layer(method.critic)
    assert figures(method, batch) == {"residual": 0, "critic_accuracy": 0.5}  # G starts at zero, and D knows nothing
    train(method, batch, 25, "critic")
    assert figures(method, batch) == {"residual": 0, "critic_accuracy": pytest.approx(accuracy(*scores(method, batch)))}
    train(method, batch, 10, "generator")
    memo: Memo = {}
    method.losses("net", batch, memo)
    added = method.generator(memo["low"], memo["noise"]) - memo["low"]
    share = (added.square().sum() / memo["low"].square().sum()).sqrt().item()
    assert figures(method, batch)["residual"] == pytest.approx(share, rel=1e-5)
    assert share > 0.001


def test_noise_matters_and_belongs_to_image_and_step(build: Build, batch: FullBatch) -> None:
    def memo_at(step: int) -> Memo:
        memo: Memo = {}
        method.progress = Progress(step=step)
        with torch.no_grad():
            method.losses("net", batch, memo)
        return memo

    method = build(weight=1.0)
    train(method, batch, 10, "net", "critic", "generator")
    first, again, later = memo_at(3), memo_at(3), memo_at(4)
    assert torch.equal(first["adapted"], again["adapted"])
    assert torch.equal(first["low"], later["low"])
    difference = (first["adapted"] - later["adapted"]).abs().amax(dim=(1, 2, 3))
    assert (difference > 1e-6).all()  # in every image


def test_the_task_is_learnt_from_adapted_features_by_segmenter_and_generator(build: Build, batch: FullBatch) -> None:
    method = build(weight=NOTHING)

    def cost() -> float:
        memo: Memo = {}
        with torch.no_grad():
            return method.losses("net", batch, memo)["segmentation_adapted"].item()

    costs = [cost()]
    for phase in ("generator", "net"):
        train(method, batch, 8, phase)
        costs.append(cost())
    assert costs[0] > costs[1] > costs[2]


@pytest.mark.parametrize("task", ["tagged", "untagged"])
def test_terms_and_weights_are_the_recipes(build: Build, make_experiment: Any, task: str) -> None:
    batch, method = one_batch(make_experiment, "cgan", task), build(task, weight=0.01)
    zero_last_layer(method.critic)
    memo: Memo = {}
    terms = {phase: method.losses(phase, batch, memo) for phase in method.phases}
    tasks = ["segmentation", "classification"] if task == "tagged" else ["segmentation"]
    expected = {f"{task}_{part}" for task in tasks for part in ("source", "adapted")}
    assert set(terms["net"]) == expected | ({"classification_target"} if task == "tagged" else set())
    assert set(terms["generator"]) == {"adversarial"} | {f"generator_{task}_adapted" for task in tasks}
    log2 = torch.tensor(2.0).log().item()
    assert terms["generator"]["adversarial"].item() == pytest.approx(0.01 * log2)
    assert terms["critic"]["critic"].item() == pytest.approx(2 * log2)
    # Before training nothing is added to the features, so both halves of the task cost the same.
    torch.testing.assert_close(terms["net"]["segmentation_adapted"], terms["net"]["segmentation_source"])


def test_the_generators_phase_leaves_live_statistics_alone_and_domains_apart(
    batch: FullBatch, make_experiment: Any
) -> None:
    experiment = make_experiment("tagged", "cgan")
    live = experiment.model_copy(update={"model": experiment.model.model_copy(update={"norm": "per_domain"})})
    method = build_method(lambda *_: live, "cgan", width=16, blocks=2)
    memo: Memo = {}
    untouched = weights(method.segmenter)
    method.losses("net", batch, memo)
    before = weights(method.segmenter)
    assert not same(untouched, before)
    method.losses("generator", batch, memo)
    assert method.segmenter.training
    assert same(before, weights(method.segmenter))
