"""A pass over a small target set in which an image labeller labels the images tagged lesion."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL
from endotransfer.errors import TrainingDiverged
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.local_labeller import LocalLabeller
from endotransfer.pseudo_labels.logit_cache import LogitCache
from endotransfer.pseudo_labels.rules import TagRule
from tests.pseudo_labels.memory_target_set import (
    SIZE,
    TAGS,
    LocalScores,
    MemoryTargetSet,
    Network,
    expected_labels,
    expected_with_labeller,
)


@pytest.mark.parametrize("segmenter_alone", [None, torch.tensor(0.0)])
def test_only_images_tagged_lesion_are_labelled_one_by_one(
    segmenter_alone: Tensor | None,
) -> None:
    target, scorer, network = MemoryTargetSet(), LocalScores(), Network()
    labeller = LocalLabeller(scorer, 0.25, segmenter_alone, portion=0.7)  # its own: the set's is 0.4
    summary = label_target_set(network, target, 3, 0.4, image_labeller=labeller)
    expected, twin = expected_with_labeller(target, 0.4, segmenter_alone)
    assert torch.equal(target.maps, expected)
    assert labeller.segmenter_alone == twin.segmenter_alone and labeller.limit == twin.limit
    by_threshold = expected_labels(target, 0.4)
    changed = (target.maps != by_threshold).flatten(1).any(1)
    assert changed.tolist() == [tag == LESION for tag in TAGS]
    assert scorer.images == network.images == 5
    assert summary.labelled == torch.bincount(expected.flatten().long(), minlength=256)[:3].tolist()
    assert sum(summary.predicted) == 5 * SIZE * SIZE


def test_without_tags_the_image_labeller_changes_nothing() -> None:
    target = MemoryTargetSet(tags=False)
    label_target_set(Network(), target, 3, 0.4, image_labeller=LocalLabeller(LocalScores(), 0.25, None))
    assert torch.equal(target.maps, expected_labels(target, 0.4))


def test_the_image_labeller_and_the_rule_for_normal_images_go_together() -> None:
    target = MemoryTargetSet()
    labeller = LocalLabeller(LocalScores(), 0.25, None, portion=0.7)
    label_target_set(Network(), target, 3, 0.4, rules=[TagRule()], image_labeller=labeller)
    expected, _ = expected_with_labeller(target, 0.4)
    assert (target.maps[[0, 4]] == NORMAL).all()
    assert torch.equal(target.maps[1:4], expected[1:4])


def test_a_stopped_pass_resumes_to_the_same_labels(tmp_path: Path) -> None:
    straight, stopped = MemoryTargetSet(), MemoryTargetSet()
    stopped.cache = LogitCache(tmp_path / "logit_cache")
    whole, scorer = LocalLabeller(LocalScores(), 0.25, None), LocalScores()
    summary = label_target_set(Network(), straight, 3, 0.4, image_labeller=whole)

    def killed(images: Tensor) -> Tensor:
        if scorer.images == 4:
            raise KeyboardInterrupt
        return scorer(images)

    with pytest.raises(KeyboardInterrupt):
        label_target_set(Network(), stopped, 3, 0.4, image_labeller=LocalLabeller(killed, 0.25, None))
    assert stopped.cache.whole == 2
    rest = LocalScores()
    again = LocalLabeller(rest, 0.25, None)
    assert label_target_set(Network(), stopped, 3, 0.4, image_labeller=again) == summary
    assert rest.images == 1  # of five: four were in the cache
    assert torch.equal(straight.maps, stopped.maps)
    assert again.segmenter_alone == whole.segmenter_alone and again.limit == whole.limit


def test_local_scores_that_are_not_finite_are_refused() -> None:
    labeller = LocalLabeller(lambda images: LocalScores()(images) * torch.nan, 0.25, None)
    with pytest.raises(TrainingDiverged, match="not finite"):
        label_target_set(Network(), MemoryTargetSet(), 3, 0.4, image_labeller=labeller)


def test_scores_beyond_half_precision_are_clamped_to_its_range() -> None:
    target = MemoryTargetSet()
    labeller = LocalLabeller(lambda images: 1e9 * LocalScores()(images), 0.25, torch.tensor(0.0))
    label_target_set(Network(), target, 3, 0.4, image_labeller=labeller)
    lesions = target.maps[target.tags == LESION]
    assert labeller.limit == 32 and ((lesions > 0) & (lesions != IGNORE)).any() and (lesions == NORMAL).any()
