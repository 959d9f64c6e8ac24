"""DFN does what it is for: borders are found, channels are weighed by what the image shows, and masks are learnt."""

from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import SourceBatch
from endotransfer.config import TrainingConfig
from endotransfer.engine.optimisers import shared_optimiser
from endotransfer.errors import ConfigError
from endotransfer.losses.borders import border_targets
from endotransfer.methods.base import Method
from endotransfer.methods.resolve import method_config
from endotransfer.models.segmenters.dfn_segmenter import DfnSegmenter
from tests.contract.behaviour import FullBatch, build, one_batch, train
from tests.contract.whole_source import share_ranked_right, whole_source

WIDTH = 3  # of a border; seven pixels would be most of a lesion at this size


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """All source images that carry masks, and a few of the target."""
    return FullBatch(whole_source(make_experiment, "dfn"), one_batch(make_experiment, "dfn").target)


@pytest.fixture(scope="module")
def trained(make_experiment: Any, batch: FullBatch) -> Method:
    method = build(make_experiment, "dfn", border_width=WIDTH)
    train(method, batch, 40, "net", lr=3e-3)
    return method


@torch.no_grad()
def quality(method: Method, source: SourceBatch) -> tuple[list[float], float, float]:
    """Each border level's ranking of border pixels; the share of right pixels, and that of the best constant."""
    size = source.images.shape[-2:]
    output = method.segmenter(source.images)
    truth = border_targets(source.masks, WIDTH) == 1
    borders = torch.nn.functional.interpolate(output.aux["borders"], size=size, mode="bilinear").unbind(1)
    right = output.at(size).argmax(1) == source.masks
    constant = torch.bincount(source.masks.flatten()).max() / source.masks.numel()
    ranked = [share_ranked_right(level.flatten(), truth.flatten()) for level in borders]
    return ranked, right.double().mean().item(), constant.item()


def test_borders_are_found_at_every_level(make_experiment: Any, trained: Method, batch: FullBatch) -> None:
    found, _, _ = quality(trained, batch.source)
    untrained, _, _ = quality(build(make_experiment, "dfn", border_width=WIDTH), batch.source)
    assert len(found) == 4
    assert min(found) > 0.8
    assert min(found) > max(untrained)


def test_the_smooth_network_beats_the_best_constant(trained: Method, batch: FullBatch) -> None:
    _, right, constant = quality(trained, batch.source)
    assert 0.5 < constant < right - 0.02


def test_channels_are_weighed_by_what_an_image_shows(trained: Method, batch: FullBatch) -> None:
    segmenter = trained.segmenter
    assert isinstance(segmenter, DfnSegmenter)
    weights: list[Tensor] = []
    watch = [
        block.register_forward_hook(lambda block, given, _: weights.append(block.weights(*given).detach()))
        for block in segmenter.smooth.attention
    ]
    with torch.no_grad():
        segmenter(batch.source.images)
    for hook in watch:
        hook.remove()
    assert len(weights) == 4
    for level in weights:
        assert ((level > 0) & (level < 1)).all()
        assert (level.amax(0) - level.amin(0)).max() > 0.01  # between images
        assert (level.amax(1) - level.amin(1)).max() > 0.01  # between channels


def test_losses_are_the_recipes(make_experiment: Any, batch: FullBatch) -> None:
    """Names and weights: with border logits of 0 each of four focal terms is one quarter of log 2, weighed by class."""
    method = build(make_experiment, "dfn")
    assert isinstance(method.segmenter, DfnSegmenter)
    for head in method.segmenter.border.heads:
        assert isinstance(head, torch.nn.Sequential)
        for parameter in head[-1].parameters():
            torch.nn.init.zeros_(parameter)
    terms = method.losses("net", batch, {})
    levels = {f"segmentation_source_level_{index}" for index in range(3)}
    tags = {"classification_source", "classification_target"}
    assert set(terms) == {"segmentation_source", "border_source"} | levels | tags
    share = (border_targets(batch.source.masks) == 1).double().mean().item()
    by_class = 0.25 * share + 0.75 * (1 - share)
    expected = 0.1 * 4 * by_class * 0.25 * torch.tensor(2.0).log().item()
    assert terms["border_source"].item() == pytest.approx(expected, rel=1e-5)


def test_without_tags_only_source_masks_are_learnt(make_experiment: Any) -> None:
    batch = one_batch(make_experiment, "dfn", "untagged")
    terms = build(make_experiment, "dfn", "untagged").losses("net", batch, {})
    assert not any(name.startswith("classification") for name in terms)


def test_width_follows_the_shared_head_unless_said(make_experiment: Any) -> None:
    assert build(make_experiment, "dfn").segmenter.feature_channels == 32  # twice the 16 of ASPP
    assert build(make_experiment, "dfn", smooth_channels=12).segmenter.feature_channels == 12


def test_an_even_border_is_refused() -> None:
    with pytest.raises(ConfigError, match="odd"):
        method_config({"name": "dfn", "border_width": 6})


@pytest.mark.parametrize(("settings", "factor"), [({}, 10), ({"head_lr_factor": 4}, 4), ({"head_lr_factor": None}, 3)])
def test_new_layers_learn_at_a_rate_of_their_own(make_experiment: Any, settings: Any, factor: float) -> None:
    """Ten times the backbone's, whatever the experiment gives other systems' heads."""
    method = build(make_experiment, "dfn", **settings)
    optimiser = shared_optimiser(method, "net", TrainingConfig(lr=1e-4, head_lr_factor=3))
    rates = {id(parameter): group["lr"] for group in optimiser.param_groups for parameter in group["params"]}
    found = {"backbone" in name: rates[id(parameter)] for name, parameter in method.segmenter.named_parameters()}
    assert found == {True: pytest.approx(1e-4), False: pytest.approx(factor * 1e-4)}


def test_other_systems_take_the_experiments_rate(make_experiment: Any) -> None:
    optimiser = shared_optimiser(
        build(make_experiment, "source_only"), "net", TrainingConfig(lr=1e-4, head_lr_factor=3)
    )
    assert sorted(group["lr"] for group in optimiser.param_groups) == pytest.approx([1e-4, 3e-4])
