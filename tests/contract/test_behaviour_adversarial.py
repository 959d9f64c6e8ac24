"""LtA and ADVENT do what they are for: critics learn to tell domains apart, target predictions to fool them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL
from endotransfer.losses.adversarial import fooling_loss
from endotransfer.losses.entropy import mean_entropy
from endotransfer.methods.base import Memo
from endotransfer.methods.lta import Lta, levels_at
from endotransfer.models.segmenters.segmenter import Segmenter
from tests.contract.behaviour import FullBatch, one_batch, train, zero_last_layer
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt
Build = Callable[..., Lta]


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """One batch of the tagged task, which every step here is trained on."""
    return one_batch(make_experiment, "lta")


@pytest.fixture
def build(make_experiment: Any) -> Build:
    """`build("lta", weight=1.0)`: a fresh method, the same weights for the same settings."""

    def make(name: str, **settings: Any) -> Lta:
        method = build_method(make_experiment, name, **settings)
        assert isinstance(method, Lta)
        return method

    return make


@torch.no_grad()
def scores(method: Lta, batch: FullBatch, level: str = "main") -> tuple[Tensor, Tensor]:
    """The critic's logits of "is target" on both domains' predictions."""
    outputs = method.forward_both(batch.source.images, batch.target.images)
    seen = [method.what_the_critic_sees(levels_at(out, batch.source.images.shape[-2:])[level]) for out in outputs]
    return method.critics[level](seen[0]), method.critics[level](seen[1])


adversarial = pytest.mark.parametrize("name", ["lta", "advent"])
# Both sides of the game by themselves, with the code that the two methods share.
apart = pytest.mark.parametrize("name", ["lta", pytest.param("advent", marks=pytest.mark.extended)])


@apart
def test_critics_alone_learn_to_tell_fixed_predictions_apart(build: Build, batch: FullBatch, name: str) -> None:
    method = build(name, critic_lr=1e-3)
    before = {name: value.clone() for name, value in method.segmenter.state_dict().items()}
    train(method, batch, 25, "critic")
    for level in method.critic_levels():
        source, target = scores(method, batch, level)
        assert torch.cat([source < 0, target > 0]).double().mean().item() > 0.75
    assert all(torch.equal(before[name], value) for name, value in method.segmenter.state_dict().items())


@apart
def test_target_predictions_learn_to_fool_a_critic_that_stands_still(build: Build, batch: FullBatch, name: str) -> None:
    before, after = {}, {}
    for weight in (1.0, NOTHING):
        method = build(name, critic_lr=1e-3, weight=weight, two_levels=False)
        train(method, batch, 25, "critic")
        before[weight] = fooling_loss(scores(method, batch)[1]).item()
        train(method, batch, 8, "net")
        after[weight] = fooling_loss(scores(method, batch)[1]).item()
    assert before[1.0] == before[NOTHING]
    assert after[1.0] < before[1.0]
    assert after[1.0] < 0.5 * after[NOTHING]


@adversarial
def test_with_fooling_the_critic_can_tell_less_than_without(build: Build, batch: FullBatch, name: str) -> None:
    gaps = {}
    for weight in (1.0, NOTHING):
        method = build(name, critic_lr=1e-3, weight=weight, two_levels=False)
        train(method, batch, 20, "net", "critic")
        source, target = scores(method, batch)
        gaps[weight] = (target.mean() - source.mean()).item()
    assert gaps[1.0] < 0.5 * gaps[NOTHING]


def test_minent_makes_target_predictions_surer(build: Build, batch: FullBatch) -> None:
    entropies = {}
    for weight in (1.0, NOTHING):
        method = build("advent", objective="entropy", weight=weight, two_levels=False)
        train(method, batch, 10, "net")
        with torch.no_grad():
            entropies[weight] = mean_entropy(method.segmenter(batch.target.images).logits).item()
    assert entropies[1.0] < 0.9 * entropies[NOTHING]


def test_the_second_level_is_a_classifier_of_its_own(build: Build, batch: FullBatch) -> None:
    output = build("lta").segmenter(batch.target.images)
    assert output.aux["logits"].shape == output.logits.shape
    assert not torch.allclose(output.aux["logits"], output.logits)


def test_a_switched_off_part_does_not_exist(build: Build) -> None:
    assert set(build("lta").critics) == {"main", "aux"}
    assert set(build("lta", two_levels=False).critics) == {"main"}
    assert set(build("lta", weight_aux=0).critics) == {"main"}
    for method in (build("advent", objective="entropy"), build("lta", weight=0, two_levels=False)):
        assert not hasattr(method, "critics")
        assert [stage.phases for stage in method.stages()] == [("net",)]
    assert build("lta").stages()[0].phases == ("net", "critic")


def test_losses_are_the_recipes(build: Build, batch: FullBatch) -> None:
    """Names and weights of L_G and L_D: with a critic that says 0 (one half) every BCE is log 2."""
    for name in ("lta", "advent"):
        method = build(name)
        for critic in method.critics.values():
            zero_last_layer(critic)
        memo: Memo = {}
        terms = method.losses("net", batch, memo)
        assert set(terms) == {
            "segmentation_source", "segmentation_source_aux", "classification_source", "classification_target",
            "adversarial_main", "adversarial_aux",
        }  # fmt: skip
        log2 = torch.tensor(2.0).log().item()
        assert terms["adversarial_main"].item() == pytest.approx(0.001 * log2)
        assert terms["adversarial_aux"].item() == pytest.approx(0.0002 * log2)
        critic_terms = method.losses("critic", batch, memo)
        assert {name: value.item() for name, value in critic_terms.items()} == pytest.approx(
            {"critic_main": log2, "critic_aux": log2}
        )
        assert not any(part.requires_grad for maps in memo.values() for part in maps)


def test_advent_shows_its_critics_self_information_and_lta_probabilities(build: Build) -> None:
    logits = torch.zeros(1, 2, 2, 2)
    assert torch.equal(build("lta").what_the_critic_sees(logits), torch.full_like(logits, 0.5))
    logits[:, 0] = 1e4
    assert build("lta").what_the_critic_sees(logits)[:, 0].eq(1).all()
    assert build("advent").what_the_critic_sees(logits).abs().max().item() == 0


def test_the_second_level_follows_the_first_at_a_fifth(build: Build) -> None:
    """A search over one number moves both; either can still be set."""
    assert build("lta").transfer_weights() == pytest.approx({"main": 0.001, "aux": 0.0002})
    for name in ("lta", "advent"):
        assert build(name, weight=0.3).transfer_weights() == pytest.approx({"main": 0.3, "aux": 0.06})
    assert build("lta", weight=0.3, weight_aux=0.1).transfer_weights() == {"main": 0.3, "aux": 0.1}
    assert build("lta", weight=0.3, two_levels=False).transfer_weights() == {"main": 0.3}
    assert build("lta", weight=0).transfer_weights() == {}


def bent_to(method: Lta, bias: float) -> Lta:
    """With `bias` on the lesion's logit: a segmenter that sees lesions everywhere, or nowhere."""
    assert isinstance(method.segmenter, Segmenter) and method.segmenter.refinement is not None
    last = method.segmenter.refinement.product
    assert last.bias is not None
    with torch.no_grad():
        last.bias[LESION] += bias
    return method


@pytest.mark.parametrize(
    ("setting", "bias", "tag", "sign"), [("normal_weight", 2.0, NORMAL, -1), ("missed_weight", -2.0, LESION, 1)]
)
def test_tags_clear_images_tagged_normal_and_find_something_in_the_others(
    build: Build, batch: FullBatch, setting: str, bias: float, tag: int, sign: int
) -> None:
    """Each weight moves what is seen in its images, and only where the network contradicts their tag."""
    tags = batch.target.tags
    assert tags is not None
    highest = {}
    for weight in (0.0, 1.0):
        method = bent_to(build("lta", weight=0.0, two_levels=False, **{setting: weight}), bias)
        train(method, batch, 8, "net")
        with torch.no_grad():
            odds = method.segmenter(batch.target.images, domain="target").logits.diff(dim=1).flatten(1)
        highest[weight] = odds.amax(1)[tags == tag].mean().item()
    assert sign * (highest[1.0] - highest[0.0]) > 0.1


@pytest.mark.parametrize("preset", ["multi", "single", "normals", "tags"])
def test_terms_of_each_preset(build: Build, batch: FullBatch, preset: str) -> None:
    terms = build("lta", **Lta.presets[preset]).losses("net", batch, {})
    expected = {"normals": {"normal_target"}, "tags": {"normal_target", "missed"}}.get(preset, set())
    assert terms.keys() & {"normal_target", "missed", "tags"} == expected
