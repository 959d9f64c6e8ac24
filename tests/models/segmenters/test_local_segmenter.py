"""A linear layer on local features as a whole network: its limit, its tag, and that it comes back from its spec."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL
from endotransfer.config import ModelConfig
from endotransfer.models.segmenters.local_segmenter import LocalSegmenter, build_local_segmenter

Tiny = Callable[..., ModelConfig]


def build(model: ModelConfig) -> LocalSegmenter:
    """With random weights in its layer, and a limit."""
    torch.manual_seed(0)
    segmenter = build_local_segmenter(model)
    torch.nn.init.normal_(segmenter.scorer.linear.weight)
    segmenter.limit.fill_(1.5)
    return segmenter


@pytest.mark.parametrize("with_weights", [True, False])
def test_a_place_is_lesion_where_its_score_exceeds_the_limit(
    tiny: Tiny, taught: Path, images: Tensor, with_weights: bool
) -> None:
    segmenter = build(tiny(weights=taught if with_weights else None))
    out = segmenter(images)
    scores = segmenter.scores(images)
    assert out.logits.shape == (4, 2, 6, 6) and out.features.shape == (4, segmenter.feature_channels, 6, 6)
    assert (out.logits[:, NORMAL] == 0).all()
    torch.testing.assert_close(out.logits[:, LESION], scores - 1.5)
    assert torch.equal(out.logits.argmax(1) == LESION, scores > 1.5)


def test_the_tag_is_judged_by_the_likeliest_places(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny())
    out = segmenter(images)
    places = math.ceil(0.02 * 36)
    for tag, scores in zip(out.tag_logits, segmenter.scores(images), strict=True):
        likeliest = sorted(scores.flatten().tolist())[-places:]
        assert tag.tolist() == pytest.approx([0.0, sum(likeliest) / places - 1.5], abs=1e-5)


def test_both_domains_are_seen_alike_and_nothing_moves(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny())
    state = {name: value.clone() for name, value in segmenter.state_dict().items()}
    one, other = (segmenter.train()(images, domain=domain) for domain in ("source", "target"))
    assert torch.equal(one.logits, other.logits)
    assert all(torch.equal(value, state[name]) for name, value in segmenter.state_dict().items())


@pytest.mark.parametrize("with_weights", [True, False])
def test_the_limit_and_the_statistics_of_its_weights_come_back_from_the_spec(
    tiny: Tiny, taught: Path, images: Tensor, with_weights: bool
) -> None:
    """The spec knows no file of weights, whose statistics were frozen, and must not build group norm instead."""
    first = build(tiny(weights=taught if with_weights else None))
    second = first.spec.build()
    second.load_state_dict(first.state_dict())
    assert second.limit.item() == 1.5
    assert torch.equal(first(images).logits, second(images).logits)
    kinds = [{type(module) for module in network.modules()} for network in (first, second)]
    assert kinds[0] == kinds[1]
    assert first.spec.norm == ("frozen" if with_weights else "group")


def test_scores_stay_exact_in_half_precision(tiny: Tiny, images: Tensor) -> None:
    segmenter = build(tiny())
    with torch.autocast("cpu", torch.bfloat16):
        out = segmenter(images)
    assert out.logits.dtype == out.tag_logits.dtype == torch.float32


def test_any_size_works(tiny: Tiny) -> None:
    assert build(tiny())(torch.rand(1, 3, 33, 47)).logits.shape == (1, 2, 5, 6)
