"""LSD does what it is for: the decoder rebuilds images, the critic reads their provenance, features hide it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.losses.provenance import Provenance, absolute_error
from endotransfer.methods.base import Memo
from endotransfer.methods.lsd import Lsd
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt
CHANCE = 0.5
Build = Callable[..., Lsd]


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    return one_batch(make_experiment, "lsd")


@pytest.fixture(scope="module")
def build(make_experiment: Any) -> Build:
    def make(task: str = "tagged", **settings: Any) -> Lsd:
        method = build_method(make_experiment, "lsd", task, **({"lr": 5e-3} | settings))
        assert isinstance(method, Lsd)
        return method

    return make


@pytest.fixture(scope="module")
def decoding(build: Build, batch: FullBatch) -> dict[str, Tensor]:
    """Weights of a method whose decoder has learnt to decode the features as they are at first."""
    method = build(weight_real=NOTHING)
    train(method, batch, 50, "generator")
    return {name: value.clone() for name, value in method.state_dict().items()}


@torch.no_grad()
def decoded(method: Lsd, batch: FullBatch) -> Tensor:
    memo: Memo = {}
    method.losses("net", batch, memo)
    images: Tensor = memo["decoded"]
    return images


@torch.no_grad()
def provenances(method: Lsd, batch: FullBatch) -> dict[Provenance, Tensor]:
    """D's scores of all four cases, each [B, 4, h, w]."""
    images = [batch.source.images, batch.target.images, *torch.split(decoded(method, batch), len(batch.source.images))]
    cases = (Provenance.SOURCE_REAL, Provenance.TARGET_REAL, Provenance.SOURCE_FAKE, Provenance.TARGET_FAKE)
    return {case: method.critic(part)[0] for case, part in zip(cases, images, strict=True)}


def four_way_accuracy(method: Lsd, batch: FullBatch) -> float:
    found = provenances(method, batch)
    return torch.cat([scores.argmax(1) == case for case, scores in found.items()]).double().mean().item()


def domain_accuracy(method: Lsd, batch: FullBatch) -> float:
    """How often D reads the right domain from a decoded image, real or not left aside."""
    found = provenances(method, batch)
    is_target = {case: scores[:, 2:].logsumexp(1) > scores[:, :2].logsumexp(1) for case, scores in found.items()}
    right = [~is_target[Provenance.SOURCE_FAKE], is_target[Provenance.TARGET_FAKE]]
    return torch.cat(right).double().mean().item()


def test_reconstruction_error_falls(build: Build, batch: FullBatch, decoding: dict[str, Tensor]) -> None:
    originals = torch.cat([batch.source.images, batch.target.images])
    method = build()
    before = absolute_error(decoded(method, batch), originals).item()
    method.load_state_dict(decoding)
    assert absolute_error(decoded(method, batch), originals).item() < 0.3 * before


def test_a_critic_alone_tells_four_cases_apart_and_segments(build: Build, batch: FullBatch) -> None:
    method = build(lr=1e-3)
    assert four_way_accuracy(method, batch) == pytest.approx(0.25, abs=0.15)
    memo: Memo = {"decoded": decoded(method, batch)}
    before = method.losses("critic", batch, memo)["critic_classes"].item()
    train(method, batch, 40, "critic")
    after = method.losses("critic", batch, memo)["critic_classes"].item()
    assert four_way_accuracy(method, batch) > 0.45
    assert after < 0.8 * before


def test_features_learn_to_hide_the_domain_from_a_critic_that_stands_still(
    build: Build, batch: FullBatch, decoding: dict[str, Tensor]
) -> None:
    found = {}
    for weight in (1.0, NOTHING):
        method = build(weight=weight)
        method.load_state_dict(decoding)
        train(method, batch, 30, "critic")
        assert domain_accuracy(method, batch) > 0.9
        train(method, batch, 10, "net")
        found[weight] = domain_accuracy(method, batch)
    assert found[1.0] < CHANCE  # taken for the other domain's
    assert found[NOTHING] > 0.75


def test_a_critic_that_goes_on_learning_falls_to_about_chance(
    build: Build, batch: FullBatch, decoding: dict[str, Tensor]
) -> None:
    found = {}
    for weight in (1.0, NOTHING):
        method = build(weight=weight, lr=2e-3)
        method.load_state_dict(decoding)
        train(method, batch, 20, "critic")
        train(method, batch, 48, "net", "critic", lr=1e-4)
        found[weight] = domain_accuracy(method, batch)
    assert abs(found[1.0] - CHANCE) < 0.3
    assert found[NOTHING] > 0.9


@pytest.mark.parametrize("task", ["tagged", "untagged"])
def test_terms_and_weights_are_the_recipes(build: Build, make_experiment: Any, task: str) -> None:
    """A critic that says nothing takes every case for one of four, and every pixel for one of K."""
    batch, method = one_batch(make_experiment, "lsd", task), build(task)
    for head in (method.critic.provenance, method.critic.classes):
        for parameter in head.parameters():
            torch.nn.init.zeros_(parameter)
    memo: Memo = {}
    terms = {phase: method.losses(phase, batch, memo) for phase in method.phases}
    values = {phase: {name: value.item() for name, value in group.items()} for phase, group in terms.items()}
    log4, log_k = torch.tensor([4.0, 2.0 if task == "tagged" else 5.0]).log().tolist()
    tags = {"classification_source", "classification_target"} if task == "tagged" else set()
    assert set(values["net"]) == {"segmentation_source", "adversarial", "decoded_classes"} | tags
    assert values["net"]["adversarial"] == pytest.approx(0.1 * 2 * log4)
    assert values["net"]["decoded_classes"] == pytest.approx(0.1 * log_k)
    originals = torch.cat([batch.source.images, batch.target.images])
    errors = [absolute_error(*pair).item() for pair in zip(memo["decoded"].chunk(2), originals.chunk(2), strict=True)]
    assert values["generator"] == pytest.approx(
        {
            "generator_classes": log_k,
            "generator_real": 0.1 * 2 * log4,
            "reconstruction_source": errors[0],
            "reconstruction_target": errors[1],
        }
    )
    assert values["critic"] == pytest.approx(
        {f"critic_{case.name.lower()}": log4 for case in Provenance} | {"critic_classes": log_k}
    )
    assert not memo["features"].requires_grad and not memo["decoded"].requires_grad


def test_each_network_asks_for_the_case_that_the_recipe_names(
    build: Build, batch: FullBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A critic that is sure of one case for all source images, and of one for all target images."""
    method = build()

    def costs(from_source: Provenance, from_target: Provenance) -> list[float]:
        cases = [from_source] * len(batch.source.images) + [from_target] * len(batch.target.images)
        scores = 100.0 * torch.eye(4)[cases][:, :, None, None]
        monkeypatch.setattr(method.critic, "forward", lambda images: (scores, torch.zeros(len(images), 2, 1, 1)))
        memo: Memo = {}
        net = method.losses("net", batch, memo)["adversarial"]
        return [net.item(), method.losses("generator", batch, memo)["generator_real"].item()]

    nothing, one, both = 0.0, pytest.approx(10.0), pytest.approx(20.0)  # 0.1 * 100 for each domain taken amiss
    assert costs(Provenance.SOURCE_REAL, Provenance.TARGET_REAL) == [both, nothing]
    assert costs(Provenance.TARGET_REAL, Provenance.SOURCE_REAL) == [nothing, both]
    assert costs(Provenance.SOURCE_REAL, Provenance.SOURCE_REAL) == [one, one]
    assert costs(Provenance.SOURCE_FAKE, Provenance.TARGET_FAKE) == [both, both]
