"""CyCADA does what it is for: images take on the target's colours and find back, and score maps become alike."""

from collections import Counter
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.engine.plan import lay_out
from endotransfer.losses.cycle_consistency import cycle_loss
from endotransfer.methods.base import METHODS
from endotransfer.methods.cycada import CyCADA, CyCADAConfig
from endotransfer.methods.resolve import method_config
from endotransfer.methods.task import Progress, TaskInfo
from tests.contract.behaviour import FullBatch, one_batch, train

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt
TRANSLATION = ("translators", "image_critics")


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    return one_batch(make_experiment, "cycada")


def cycada(make_experiment: Any, stage: str = "", epochs: int = 10, tags: bool = True, **settings: Any) -> CyCADA:
    """A fresh, small method without dropout, as it is in `stage`."""
    torch.manual_seed(0)
    model = make_experiment("tagged", "cycada").model.model_copy(update={"dropout": 0.0})
    config = METHODS.get("cycada").Config(**{"width": 8, "blocks": 1, **settings})
    method = CyCADA(TaskInfo(2 if tags else 5, tags, model, epochs), config)
    method.progress = Progress(stage=stage)
    return method


@pytest.fixture
def build(make_experiment: Any) -> Any:
    return partial(cycada, make_experiment)


# -- translation ------------------------------------------------------------------------------------------------------


def colours(images: Tensor) -> Tensor:
    """Mean and deviation of each channel over all images: [6]."""
    return torch.cat([images.mean((0, 2, 3)), images.std((0, 2, 3))])


@pytest.fixture(scope="module")
def translating(make_experiment: Any, batch: FullBatch) -> CyCADA:
    method = cycada(make_experiment, "translation", translation_lr=1e-3)
    train(method, batch, 40, *TRANSLATION)
    return method


def test_translated_images_take_on_the_targets_colours(translating: CyCADA, batch: FullBatch) -> None:
    source, target = batch.source.images, batch.target.images
    gap = (colours(source) - colours(target)).abs().sum()
    left = (colours(translating.in_target_style(source)) - colours(target)).abs().sum()
    assert left < 0.5 * gap


def test_the_cycle_loss_makes_images_find_back(build: Any, translating: CyCADA, batch: FullBatch) -> None:
    def cycle(method: CyCADA) -> float:
        images = batch.source.images
        return cycle_loss(images, method.translators["source"](method.in_target_style(images))).item()

    without = build("translation", translation_lr=1e-3, cycle_weight=0)
    train(without, batch, 15, *TRANSLATION)
    assert cycle(translating) < 0.5 * cycle(without)


def test_translation_leaves_the_segmenter_alone_and_the_segmenter_the_translators(build: Any, batch: FullBatch) -> None:
    method = build("translation")
    assert method.stages()[0].phases == TRANSLATION
    method.progress = Progress(stage="segmentation")
    torch.autograd.backward(torch.stack(list(method.losses("net", batch, {}).values())).sum())
    assert all(parameter.grad is None for parameter in method.translators.parameters())
    assert all(parameter.grad is not None for parameter in method.segmenter.parameters())


def test_the_segmenter_is_shown_translated_images(build: Any, batch: FullBatch) -> None:
    method = build("segmentation")
    torch.nn.init.constant_(method.translators["target"].last.bias, 1.0)
    seen = []
    method.segmenter.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    method.losses("net", batch, {})
    (both,) = seen
    assert torch.equal(both[:4], method.in_target_style(batch.source.images))
    assert torch.equal(both[4:], batch.target.images)
    assert both[:4].mean() > batch.source.images.mean() + 0.1


# -- features ---------------------------------------------------------------------------------------------------------


@torch.no_grad()
def critic_is_right(method: CyCADA, batch: FullBatch) -> float:
    """The share of cells whose domain the score critic tells."""
    shown = method.in_target_style(batch.source.images)
    source, target = (method.score_critic(o.logits) for o in method.forward_both(shown, batch.target.images))
    return torch.cat([source < 0, target > 0]).double().mean().item()


def test_score_maps_become_alike(build: Any, make_experiment: Any) -> None:
    """With the recipe's weight the critic stays near chance; where it cannot be felt, it learns to tell domains."""
    batch, right = one_batch(make_experiment, "cycada", "untagged"), {}
    for weight in (0.1, NOTHING):
        method = build("features", tags=False, translation_steps=0, feature_weight=weight)
        method.phases = {phase: method.phases[phase] for phase in ("net", "score_critic")}
        train(method, batch, 36, "net", "score_critic")
        right[weight] = critic_is_right(method, batch)
    assert right[NOTHING] > 0.7
    assert abs(right[0.1] - 0.5) < 0.5 * (right[NOTHING] - 0.5)


def test_the_segmenter_waits_until_the_critic_knows_something(build: Any, batch: FullBatch) -> None:
    method = build("features", gate_steps=2)
    right, wrong = (torch.full((4,), value) for value in (1.0, -1.0))
    assert not method.active("net") and method.active("score_critic")
    method.accuracy.update(-right, right)
    assert method.active("net")
    method.accuracy.update(right, wrong)  # 50 % over the last two steps
    assert not method.active("net")
    method.progress = Progress(stage="segmentation")
    assert method.active("net")


def test_the_critic_learns_while_the_segmenter_waits(build: Any, batch: FullBatch) -> None:
    method = build("features").train()
    memo: dict[str, Any] = {}
    before = {name: value.clone() for name, value in method.segmenter.state_dict().items()}
    terms = method.losses("score_critic", batch, memo)
    assert set(terms) == {"score_critic"} and terms["score_critic"].requires_grad
    assert method.accuracy.seen == 1 and method.segmenter.training
    assert not any(maps.requires_grad for maps in memo["scores"])
    assert all(torch.equal(before[name], value) for name, value in method.segmenter.state_dict().items())


# -- the plan ---------------------------------------------------------------------------------------------------------


def plan(method: CyCADA) -> dict[str, int]:
    """Steps of each stage, where an epoch of the experiment has ten."""
    steps = Counter[str]()
    for epoch in lay_out(method.stages(), 10):
        steps[epoch.stage.name] += epoch.last - epoch.first
    return dict(steps)


def test_translation_is_added_and_the_segmenter_takes_all_the_experiments_epochs(build: Any) -> None:
    assert plan(build(epochs=10)) == {"translation": 5000, "segmentation": 70, "features": 30}
    assert plan(build(epochs=2)) == {"translation": 5000, "segmentation": 10, "features": 10}
    assert plan(build(epochs=1)) == {"translation": 5000, "segmentation": 10}
    assert plan(build(epochs=10, translation_steps=7)) == {"translation": 7, "segmentation": 70, "features": 30}
    assert plan(build(epochs=10, translation_steps=0)) == {"segmentation": 70, "features": 30}
    assert plan(build(epochs=10, feature_share=0)) == {"translation": 5000, "segmentation": 100}


def test_translation_and_segmentation_each_have_the_whole_schedule(build: Any) -> None:
    epochs = lay_out(build(epochs=3, translation_steps=7).stages(), 10)
    places = {epoch.stage.name: (epoch.scheduled(epoch.first), epoch.scheduled(epoch.last)) for epoch in epochs}
    assert places["translation"] == ((0, 7), (7, 7))
    assert places["features"] == ((20, 30), (30, 30))


@pytest.mark.parametrize(("steps", "short"), [(5000, False), (0, False), (4999, True), (100, True)])
def test_a_run_with_too_little_translation_says_that_it_is_short(build: Any, steps: int, short: bool) -> None:
    remarks = build(translation_steps=steps).findings().get("remarks", [])
    assert ["cycada (short)" in remark and f"{steps:,} steps" in remark for remark in remarks] == [True] * short


@pytest.mark.parametrize(("preset", "most"), [("default", 3), ("short", 3), ("features", 0)])
def test_the_contracts_tiny_runs_shorten_translation_and_do_not_switch_it_on(
    make_experiment: Any, preset: str, most: int
) -> None:
    _, _, config = method_config(make_experiment("tagged", "cycada", preset).method)
    assert isinstance(config, CyCADAConfig) and config.translation_steps == most


def test_target_images_come_into_segmentation_only_for_their_tags(build: Any) -> None:
    assert [stage.target for stage in build().stages()] == [True, True, True]
    assert [stage.target for stage in build(tags=False).stages()] == [True, False, True]


def test_a_switched_off_part_does_not_exist(build: Any) -> None:
    names = set(dict(build().named_children()))
    assert names == {"segmenter", "translators", "image_critics", "score_critic", "accuracy"}
    assert set(dict(build(feature_share=0).named_children())) == {"segmenter", "translators", "image_critics"}
    assert set(dict(build(translation_steps=0).named_children())) == {"segmenter", "score_critic", "accuracy"}


def test_dropout_of_the_critic_follows_the_experiments(make_experiment: Any) -> None:
    model = make_experiment("tagged", "cycada").model
    for dropout, expected in ((0.1, 0.5), (0.0, 0.0)):
        task = TaskInfo(2, True, model.model_copy(update={"dropout": dropout}), 3)
        method = CyCADA(task, CyCADAConfig.model_validate({"width": 8, "blocks": 1}))
        assert method.score_critic.layers[1].p == expected


def test_translators_have_cyclegans_adam(build: Any) -> None:
    method = build()
    for phase in TRANSLATION:
        group = method.optimiser(phase).param_groups[0]
        assert (group["lr"], group["betas"]) == (2e-4, (0.5, 0.999))
    assert method.optimiser("net") is None and method.optimiser("score_critic") is None
