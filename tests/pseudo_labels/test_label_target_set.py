"""A pass over a small target set, end to end."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from endotransfer.batch import IGNORE, NORMAL, SegOutput
from endotransfer.errors import CheckpointError, TrainingDiverged
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.logit_cache import LogitCache, logit_bytes
from endotransfer.pseudo_labels.rules import TagRule, VoteRule, Voting
from endotransfer.pseudo_labels.vote import vote_in_place, vote_superpixels, vote_synchronously
from tests.pseudo_labels.memory_target_set import (
    SIZE,
    EmptySet,
    MemoryTargetSet,
    Network,
    expected_labels,
    expected_logits,
)


@pytest.mark.parametrize("balanced", [True, False])
def test_maps_are_the_assignment_at_image_size_from_one_forward(balanced: bool) -> None:
    target, network = MemoryTargetSet(), Network()
    summary = label_target_set(network, target, 3, 0.4, balanced=balanced)
    expected = expected_labels(target, 0.4, balanced)
    assert torch.equal(target.maps, expected)
    assert network.images == 5 and summary.images == 5
    assert summary.labelled == torch.bincount(expected.flatten().long(), minlength=256)[:3].tolist()
    assert sum(summary.predicted) == 5 * SIZE * SIZE
    if not balanced:
        assert len(set(summary.thresholds)) == 1


def test_predictions_that_are_certain_enough_are_labelled_whatever_the_portion() -> None:
    """FDA's rule: the surest share of each class, and everything above a probability."""
    target, plain = MemoryTargetSet(), MemoryTargetSet()
    summary = label_target_set(Network(20.0), target, 3, 0.1, certain=0.7)
    label_target_set(Network(20.0), plain, 3, 0.1)
    probability, predicted = expected_logits(target, 20.0).softmax(1).max(1)
    certain = probability > 0.7
    assert torch.equal(target.maps[certain].long(), predicted[certain])
    assert torch.equal(target.maps[~certain], plain.maps[~certain])
    assert (plain.maps[certain] == IGNORE).any() and (target.maps == IGNORE).any()
    assert max(summary.thresholds) == pytest.approx(math.log(0.7 / 0.3))


@pytest.mark.parametrize("scale, offset", [(5.0, 0.0), (400.0, 0.0), (5.0, 3e4)])
def test_labelled_share_is_the_portion_even_when_saturated_or_far_from_zero(scale: float, offset: float) -> None:
    target = MemoryTargetSet()
    target.images = torch.rand(5, 2, SIZE, SIZE, generator=torch.Generator().manual_seed(4))
    summary = label_target_set(Network(scale, offset), target, 2, 0.3)
    for labelled, predicted in zip(summary.labelled, summary.predicted, strict=True):
        assert abs(labelled - 0.3 * predicted) <= 0.002 * predicted + 1 if offset == 0 else labelled > 0


def test_what_half_precision_cannot_tell_apart_is_labelled_alike() -> None:
    target, network = MemoryTargetSet(), Network(scale=1e-4)
    network.offset = torch.tensor([0.0, 1.0, 0.0]).view(1, 3, 1, 1)
    assert label_target_set(network, target, 3, 0.3).labelled == [0, 5 * SIZE * SIZE, 0]


@pytest.mark.parametrize("voting", ["in_place", "synchronous", "superpixel"])
def test_voting_refines_the_assignment(voting: Voting) -> None:
    target = MemoryTargetSet()
    label_target_set(Network(), target, 3, 0.4, rules=[VoteRule(voting, 2)])
    first, segments = expected_labels(target, 0.4), target.superpixels(target.keys)
    if voting == "in_place":
        array = first.numpy().copy()
        for _ in range(2):
            vote_in_place(array, segments.numpy(), 3)
        expected = torch.from_numpy(array)
    elif voting == "synchronous":
        expected = vote_synchronously(first, segments, 3, 2)
    else:
        expected = vote_superpixels(first, segments, 3)
    assert torch.equal(target.maps, expected)
    assert not torch.equal(expected, first)


def test_tags_veto_before_the_vote() -> None:
    target = MemoryTargetSet()
    label_target_set(Network(), target, 3, 0.5, rules=[TagRule(fill_normal=False), VoteRule("superpixel")])
    normal = target.maps[target.tags == NORMAL]
    assert set(normal.flatten().tolist()) <= {0, IGNORE}
    assert (target.maps[1] > 0).any()


def test_fill_normal_labels_normal_images_whole() -> None:
    target = MemoryTargetSet()
    summary = label_target_set(Network(), target, 3, 0.5, rules=[TagRule()])
    assert (target.maps[[0, 4]] == 0).all()
    assert summary.labelled[0] >= 2 * SIZE * SIZE


def test_without_tags_a_tag_rule_does_nothing() -> None:
    target = MemoryTargetSet(tags=False)
    label_target_set(Network(), target, 3, 0.4, rules=[TagRule()])
    assert torch.equal(target.maps, expected_labels(target, 0.4))


def test_figures_are_finite_shares_and_probabilities() -> None:
    target = MemoryTargetSet()
    target.images[:, 2] = 0  # the third class is never predicted
    summary = label_target_set(Network(), target, 3, 0.4)
    figures = summary.figures()
    assert summary.thresholds[2] == math.inf and figures["threshold_2"] == 1 and figures["labelled_2"] == 0
    assert figures["portion"] == 0.4 and 0 < figures["coverage"] < 1
    assert figures["labelled_0"] == summary.shares[0] == summary.labelled[0] / summary.predicted[0]


def test_a_process_without_images_returns_an_empty_summary() -> None:
    summary = label_target_set(Network(), EmptySet(), 2, 0.4, device="cpu")
    assert summary.images == 0 and summary.coverage == 0 and summary.thresholds == [math.inf] * 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_predictions_that_are_not_finite_stop_with_the_images_named(bad: float) -> None:
    target = MemoryTargetSet()
    target.images[3, 0, 0, 0] = bad
    with pytest.raises(TrainingDiverged, match="set/2, set/3"):
        label_target_set(Network(), target, 3, 0.4)


def test_logits_of_minus_infinity_are_a_certain_no() -> None:
    def predict(images: Tensor) -> SegOutput:
        logits = Network()(images).logits
        logits[:, 2] = -math.inf
        return SegOutput(logits=logits, tag_logits=None, features=logits)

    assert label_target_set(predict, MemoryTargetSet(), 3, 0.4).predicted[2] == 0


def test_on_disk_the_labels_are_those_of_memory_and_nothing_is_left(tmp_path: Path) -> None:
    in_memory, on_disk = MemoryTargetSet(), MemoryTargetSet()
    on_disk.cache = LogitCache(tmp_path / "logit_cache")
    here, there = (label_target_set(Network(), target, 3, 0.4) for target in (in_memory, on_disk))
    assert here == there
    assert torch.equal(in_memory.maps, on_disk.maps)
    assert not list(tmp_path.iterdir())


def test_a_stopped_pass_resumes_where_it_was(tmp_path: Path) -> None:
    straight, stopped = MemoryTargetSet(), MemoryTargetSet()
    summary = label_target_set(Network(), straight, 3, 0.4)
    stopped.cache = LogitCache(tmp_path / "logit_cache")
    network = Network()

    def killed(images: Tensor) -> SegOutput:
        if network.images == 4:
            raise KeyboardInterrupt
        return network(images)

    with pytest.raises(KeyboardInterrupt):
        label_target_set(killed, stopped, 3, 0.4)
    stopped.cache = LogitCache(tmp_path / "logit_cache")  # as after a kill
    assert stopped.cache.whole == 2
    again = Network()
    assert label_target_set(again, stopped, 3, 0.4) == summary
    assert again.images == 1  # of five: four were in the cache
    assert torch.equal(straight.maps, stopped.maps)


def test_what_logits_take_is_known_beforehand() -> None:
    assert logit_bytes(1, 19, (1024, 2048)) == 19 * 128 * 256 * 2  # 1.2 MB
    assert logit_bytes(2, 2, (33, 33)) == 2 * 2 * 5 * 5 * 2


def test_logits_that_cannot_be_written_end_the_pass(tmp_path: Path) -> None:
    target = MemoryTargetSet()
    target.cache = LogitCache(tmp_path / "logit_cache")
    (tmp_path / "logit_cache" / "000001.npy").mkdir(parents=True)  # a folder where the file should be
    with pytest.raises(CheckpointError, match="cannot write"):
        label_target_set(Network(), target, 3, 0.4)
