"""Transferability: cells that the critic cannot place count more, in pseudo-labels and in fooling the critic."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.losses.cross_entropy import segmentation
from endotransfer.losses.transfer_gate import transferability
from endotransfer.methods.base import Memo
from endotransfer.methods.transferability import Transferability
from tests.contract.behaviour import FullBatch, one_batch, train, zero_last_layer
from tests.contract.behaviour import build as build_method


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """With pseudo-labels: the left third of every image is lesion, the right third open."""
    batch = one_batch(make_experiment, "transferability")
    stored = torch.zeros_like(batch.target.images[:, 0], dtype=torch.long)
    stored[..., :10], stored[..., 22:] = 1, 255
    return FullBatch(batch.source, replace(batch.target, stored=stored))


@pytest.fixture
def build(make_experiment: Any) -> Any:
    def make(task: str = "tagged", **settings: Any) -> Transferability:
        method = build_method(make_experiment, "transferability", task, **settings)
        assert isinstance(method, Transferability)
        return method

    return make


def labels_of(batch: FullBatch) -> Tensor:
    assert batch.target.stored is not None
    return batch.target.stored


def decided(method: Transferability, score: float) -> None:
    """A critic that gives every cell the same score."""
    zero_last_layer(method.critic)
    last = method.critic.layers[-1]
    assert isinstance(last, torch.nn.Conv2d) and last.bias is not None
    torch.nn.init.constant_(last.bias, score)


@torch.no_grad()
def accuracy(method: Transferability, batch: FullBatch) -> float:
    outputs = method.forward_both(batch.source.images, batch.target.images)
    source, target = (method.critic(output.features) for output in outputs)
    return torch.cat([source < 0, target > 0]).double().mean().item()


def test_the_critic_alone_learns_to_tell_cells_apart(build: Any, batch: FullBatch) -> None:
    method = build(critic_lr=3e-3)
    before = {name: value.clone() for name, value in method.segmenter.state_dict().items()}
    train(method, batch, 20, "critic")
    assert accuracy(method, batch) > 0.9
    assert all(torch.equal(before[name], value) for name, value in method.segmenter.state_dict().items())


def test_fooling_takes_the_critic_towards_chance(build: Any, batch: FullBatch) -> None:
    reached = {}
    for eta in (3.0, 1e-12):
        method = build(eta=eta, critic_lr=3e-3)
        train(method, batch, 30, "net", "critic", lr=2e-4)
        reached[eta] = accuracy(method, batch)
    assert reached[1e-12] > 0.9
    assert reached[3.0] - 0.5 < 0.75 * (reached[1e-12] - 0.5)


@pytest.mark.parametrize("gate", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("score", [0.0, 2.0])
def test_labels_and_fooling_count_by_the_critics_doubt(build: Any, batch: FullBatch, gate: float, score: float) -> None:
    method = build(gate=gate, eta=0.1)
    decided(method, score)
    terms = method.eval().losses("net", batch, {})
    weight = 1 - gate * (1 - transferability(torch.tensor([[[[score]]]])).item())
    assert terms["adversarial"].item() == pytest.approx(0.1 * weight * math.log(1 + math.exp(score)), rel=1e-5)
    with torch.no_grad():
        logits = method.segmenter(batch.target.images).at(batch.target.images.shape[-2:])
    plain = segmentation(logits, labels_of(batch)).item()
    assert terms["segmentation_target"].item() == pytest.approx(weight * plain, rel=1e-4)


def test_a_gated_network_learns_less_from_labels_where_the_domain_is_plain(build: Any, batch: FullBatch) -> None:
    """Half of each image is whitened, which a trained critic sees; there the pseudo-labels pull less than elsewhere."""
    images = batch.target.images.clone()
    images[..., :16, :] = 1.0
    marked = FullBatch(batch.source, replace(batch.target, images=images))
    method = build(gate=1.0, critic_lr=3e-3)
    train(method, marked, 60, "critic")
    output = method.eval().segmenter(images)
    doubt = transferability(method.critic(output.features))
    target = replace(marked.target, stored=torch.zeros_like(labels_of(batch)))
    logits = output.logits.detach().requires_grad_()
    torch.autograd.backward(method.transfer_terms(target, replace(output, logits=logits))["segmentation_target"])
    plain = logits.detach().requires_grad_()
    at_size = replace(output, logits=plain).at(images.shape[-2:])
    torch.autograd.backward(segmentation(at_size, torch.zeros_like(labels_of(batch))))
    assert logits.grad is not None and plain.grad is not None
    pull = logits.grad.abs().sum(1) / plain.grad.abs().sum(1)
    certain = doubt < doubt.median()
    assert pull[certain].mean() < 0.75 * pull[~certain].mean()


def test_the_critics_turn_sees_what_the_networks_turn_kept(build: Any, batch: FullBatch) -> None:
    method = build()
    memo: Memo = {}
    assert set(method.losses("net", batch, memo)) == {
        "segmentation_source", "classification_source", "classification_target", "segmentation_target", "adversarial",
    }  # fmt: skip
    assert not memo["source"].requires_grad and not memo["target"].requires_grad
    decided(method, 0.0)
    assert method.losses("critic", batch, memo)["critic"].item() == pytest.approx(2 * math.log(2))


def test_a_switched_off_part_does_not_exist_and_prediction_needs_no_critic(build: Any, batch: FullBatch) -> None:
    plain = build(gate=0.0, eta=0.0)
    assert not hasattr(plain, "critic") and "adversarial" not in plain.losses("net", batch, {})
    gate_alone = build(eta=0.0)
    assert hasattr(gate_alone, "critic") and "adversarial" not in gate_alone.losses("net", batch, {})
    assert not any("critic" in name for name, _ in build().predictor().named_modules())


@pytest.mark.parametrize(("settings", "phases"), [({}, ("net", "critic")), ({"gate": 0.0, "eta": 0.0}, ("net",))])
def test_a_warm_up_transfers_nothing(make_experiment: Any, settings: Any, phases: tuple[str, ...]) -> None:
    method = build_method(make_experiment, "transferability", **settings)
    method.task = replace(method.task, epochs=4)
    warm_up, transfer = method.stages()
    assert (warm_up.phases, warm_up.target, warm_up.epochs) == (("net",), True, 1)
    assert (transfer.phases, transfer.target_pass, transfer.epochs) == (phases, True, 3)
