"""Where source lesions lie: the prior against a literal loop, and what the local layer learns with it."""

import math
import statistics
from itertools import product

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.pseudo_labels.local_layer import Examples, fit, spread_in_lesion_images
from endotransfer.pseudo_labels.place_prior import (
    ADDED,
    COMMON,
    GRID,
    RARE,
    PlacePrior,
    at_grid,
    lesion_places,
    tag_auroc,
    teach_with_places,
)

SIDE, CHANNELS, STEPS = 8, 3, 12


def source_of(masks: Tensor) -> Examples:
    """Source images [N, h, w] in which a lesion's first channel is high."""
    described = torch.randn(len(masks), CHANNELS, *masks.shape[1:], generator=torch.Generator().manual_seed(0))
    described[:, 0] += 3.0 * (masks == LESION)
    examples = Examples()
    for part in (slice(0, 2), slice(2, None)):
        examples.add(described[part], masks[part])
    return examples


def masks_with_centre_lesions() -> Tensor:
    masks = torch.full((6, SIDE, SIDE), NORMAL)
    masks[:4, 2:6, 3:6] = LESION
    masks[4, 0] = IGNORE
    return masks


def target_of(strength: float, channel: int) -> Examples:
    """Six lesion images with a bright square in the middle of `channel`, six normal ones, an untagged one."""
    described = torch.randn(13, CHANNELS, SIDE, SIDE, generator=torch.Generator().manual_seed(1))
    described[:6, channel, 2:6, 2:6] += strength
    tags = torch.tensor([LESION] * 6 + [NORMAL] * 6 + [UNKNOWN_TAG])
    examples = Examples()
    examples.add(described, tags)
    return examples


def test_the_prior_is_the_mean_mask_over_turns_and_mirror_images_as_log_odds() -> None:
    masks = torch.full((5, GRID, GRID), NORMAL)
    masks[0, 3:9, 20:25], masks[1, :16, :4], masks[2, 30:, 5:9], masks[3, 4] = LESION, LESION, 3, IGNORE  # 3: a kind
    drawn = [(masks[i] == LESION) | (masks[i] == 3) for i in range(3)]
    last, odds = GRID - 1, {}
    for row, column in product(range(GRID), repeat=2):
        turned = {(y, x) for a, b in ((row, column), (column, row)) for y in (a, last - a) for x in (b, last - b)}
        eight = [(y, x) for a, b in ((row, column), (column, row)) for y in (a, last - a) for x in (b, last - b)]
        assert turned == set(eight)
        share = statistics.fmean(statistics.fmean(float(mask[y, x]) for mask in drawn) for y, x in eight)
        share = min(max(share, RARE), COMMON)
        odds[row, column] = math.log(share / (1 - share))
    mean, deviation = statistics.fmean(odds.values()), statistics.pstdev(odds.values())
    expected = torch.tensor([[(odds[r, c] - mean) / deviation for c in range(GRID)] for r in range(GRID)])
    torch.testing.assert_close(lesion_places(source_of(masks)), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 6, 10)])
def test_without_lesions_in_source_masks_no_place_stands_out(shape: tuple[int, int, int]) -> None:
    assert not lesion_places(source_of(torch.full(shape, NORMAL))).any()
    masks = torch.full(shape, NORMAL)
    masks[:, 3:5, 3:5] = LESION
    places = lesion_places(source_of(masks))
    assert places.isfinite().all() and places.mean().abs() < 1e-5
    assert at_grid(places, shape[1:]).shape == shape[1:]


def test_tags_are_separated_as_their_surest_places_say() -> None:
    target, weight = target_of(1.0, 0), torch.tensor([1.0, 0.0, 0.0])
    pooled = target.scores(weight, torch.zeros(1))[:12].topk(3).values.mean(1)  # 3 of 64 are the surest 5 %
    expected = roc_auc_score([1] * 6 + [0] * 6, pooled)
    assert tag_auroc(target, weight, torch.zeros(1)).item() == pytest.approx(expected, abs=0.03)
    only_lesions = Examples([target.described[0][:6]], [target.known[0][:6]], target.grid)
    assert tag_auroc(only_lesions, weight, torch.zeros(1)).isnan()


def test_off_is_the_layer_as_it_was() -> None:
    source, target = source_of(masks_with_centre_lesions()), target_of(3.0, 0)
    taught = teach_with_places(source, target, STEPS, "off")
    weight, bias = fit(source, target, STEPS)
    assert torch.equal(taught.weight, weight) and torch.equal(taught.bias, bias)
    assert not taught.places.any() and not taught.led and taught.source_auroc.isnan()


def test_added_the_prior_changes_no_weight_and_weighs_as_the_scores_spread() -> None:
    source, target = source_of(masks_with_centre_lesions()), target_of(3.0, 0)
    taught = teach_with_places(source, target, STEPS, "add")
    weight, bias = fit(source, target, STEPS)
    assert torch.equal(taught.weight, weight) and not taught.led
    spread = spread_in_lesion_images(target.scores(weight, bias), target.known[0])
    torch.testing.assert_close(taught.places, ADDED * spread * lesion_places(source))
    assert taught.places[16, 16] > 0 > taught.places[0, 0]


def test_leading_the_prior_leaves_nothing_of_what_source_lesions_look_like() -> None:
    masks = masks_with_centre_lesions()
    one, other = source_of(masks), source_of(masks)
    other.described = [-some for some in other.described]
    target = target_of(3.0, 1)
    led, led_too = (teach_with_places(source, target, STEPS, "lead") for source in (one, other))
    assert led.led and torch.equal(led.weight, led_too.weight)
    assert led.weight[1] > 0.1 and led.weight[1] == led.weight.max()  # what target lesions look like
    added = [teach_with_places(source, target, STEPS, "add").weight for source in (one, other)]
    assert not torch.equal(*added)


@pytest.mark.parametrize(("strength", "led"), [(3.0, False), (-3.0, True)])
def test_what_source_lesions_look_like_is_learnt_only_where_it_separates_the_tags(strength: float, led: bool) -> None:
    source, target = source_of(masks_with_centre_lesions()), target_of(strength, 0)
    taught = teach_with_places(source, target, STEPS, "auto")
    assert taught.led == led and (taught.source_auroc < 0.7) == led
    alike: PlacePrior = "lead" if led else "add"
    assert torch.equal(taught.weight, teach_with_places(source, target, STEPS, alike).weight)


@pytest.mark.parametrize("without", ["normal images", "source lesions"])
def test_where_nothing_can_be_decided_the_source_teaches(without: str) -> None:
    masks = masks_with_centre_lesions()
    target = target_of(-3.0, 0)
    if without == "normal images":
        target.known[0][6:] = UNKNOWN_TAG
    else:
        masks[masks == LESION] = NORMAL
    assert not teach_with_places(source_of(masks), target, STEPS, "auto").led
