"""One pass over a small target set, end to end."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG, PassBatch, SegOutput
from endotransfer.errors import CheckpointError, TrainingDiverged
from endotransfer.pseudo_labels.assign import assign
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.local_labeller import LocalLabeller
from endotransfer.pseudo_labels.logit_cache import LogitCache, logit_bytes
from endotransfer.pseudo_labels.rules import TagRule, VoteRule, Voting
from endotransfer.pseudo_labels.thresholds import ThresholdState
from endotransfer.pseudo_labels.vote import vote_in_place, vote_superpixels, vote_synchronously

SIZE = 16
TAGS = [NORMAL, LESION, UNKNOWN_TAG, LESION, NORMAL]


class MemoryTargetSet:
    """Five random images in batches of two, their super-pixels 4 x 4 squares."""

    def __init__(self, tags: bool = True) -> None:
        self.images = torch.rand(5, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(3))
        self.keys = [f"set/{i}" for i in range(5)]
        self.tags = torch.tensor(TAGS) if tags else None
        self.stored: dict[str, Tensor] = {}
        self.cache, self.size, self.total = LogitCache(), (SIZE, SIZE), 5

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def without_images(self) -> Iterator[PassBatch]:
        return (PassBatch(torch.empty(0), batch.tags, batch.keys) for batch in self)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for start in range(2 * batches, 5, 2):
            part = slice(start, start + 2)
            yield PassBatch(self.images[part], None if self.tags is None else self.tags[part], self.keys[part])

    def logit_cache(self, channels: int) -> LogitCache:
        return self.cache

    def superpixels(self, keys: list[str]) -> Tensor:
        rows = torch.arange(SIZE) // 4
        return (rows.view(-1, 1) * 4 + rows).expand(len(keys), -1, -1)

    def store(self, keys: list[str], maps: Tensor) -> None:
        assert maps.dtype == torch.uint8
        self.stored |= dict(zip(keys, maps, strict=True))

    @property
    def maps(self) -> Tensor:
        return torch.stack([self.stored[key] for key in self.keys])


class Network:
    """Logits at a quarter of the size, a fixed function of the image; counts its forwards."""

    def __init__(self, scale: float = 5.0, offset: float | Tensor = 0.0) -> None:
        self.scale, self.offset, self.images = scale, offset, 0

    def __call__(self, images: Tensor) -> SegOutput:
        self.images += len(images)
        pooled = interpolate(images, size=(4, 4), mode="bilinear", antialias=True)
        logits = (pooled - 0.5) * self.scale + self.offset
        return SegOutput(logits=logits, tag_logits=None, features=pooled)


def expected_logits(target: MemoryTargetSet, scale: float = 5.0) -> Tensor:
    """Rounded to half precision around the largest, then up-sampled: what thresholds and assignment must see."""
    logits = Network(scale)(target.images).logits
    rounded = (logits - logits.amax(1, keepdim=True)).half().float()
    return interpolate(rounded, size=(SIZE, SIZE), mode="bilinear", align_corners=False)


def expected_labels(target: MemoryTargetSet, portion: float, balanced: bool = True) -> Tensor:
    logits = expected_logits(target)
    state = ThresholdState(3)
    state.update(logits)
    return assign(logits, state.thresholds(portion, balanced))


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


class EmptySet(MemoryTargetSet):
    def after(self, batches: int) -> Iterator[PassBatch]:
        return iter(())


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


def test_a_stopped_pass_goes_on_where_it_was(tmp_path: Path) -> None:
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


class Look:
    """Local scores at half the images' size, a fixed function of the image; counts what it saw."""

    def __init__(self) -> None:
        self.images = 0

    def __call__(self, images: Tensor) -> Tensor:
        self.images += len(images)
        return 20.0 * (interpolate(images, size=(8, 8), mode="bilinear", antialias=True)[:, 1] - 0.5)


def expected_with_labeller(
    target: MemoryTargetSet, portion: float, segmenter_alone: Tensor | None = None
) -> tuple[Tensor, LocalLabeller]:
    """The set's thresholds, and over them each lesion image's own labels; every image was observed once."""
    labeller, looked = LocalLabeller(Look(), 0.25, segmenter_alone, portion=0.7), Look()(target.images).unsqueeze(1)
    local = interpolate(looked, size=(4, 4), mode="bilinear", align_corners=False).half().float()  # like the logits
    small = Network()(target.images).logits
    assert target.tags is not None
    labeller.observe((small - small.amax(1, keepdim=True)).half().float(), local[:, 0], target.tags)
    labeller.settle()
    sized = interpolate(local, size=(SIZE, SIZE), mode="bilinear", align_corners=False)[:, 0]
    labels = expected_labels(target, portion)
    own = labeller.label(expected_logits(target), sized, labels)
    return torch.where((target.tags == LESION).view(-1, 1, 1), own, labels), labeller


@pytest.mark.parametrize("segmenter_alone", [None, torch.tensor(0.0)])
def test_with_labeller_images_tagged_lesion_and_no_others_are_labelled_by_themselves(
    segmenter_alone: Tensor | None,
) -> None:
    target, look, network = MemoryTargetSet(), Look(), Network()
    labeller = LocalLabeller(look, 0.25, segmenter_alone, portion=0.7)  # its own: the set's is 0.4
    summary = label_target_set(network, target, 3, 0.4, image_labeller=labeller)
    expected, twin = expected_with_labeller(target, 0.4, segmenter_alone)
    assert torch.equal(target.maps, expected)
    assert labeller.segmenter_alone == twin.segmenter_alone and labeller.limit == twin.limit
    by_the_set = expected_labels(target, 0.4)
    changed = (target.maps != by_the_set).flatten(1).any(1)
    assert changed.tolist() == [tag == LESION for tag in TAGS]
    assert look.images == network.images == 5
    assert summary.labelled == torch.bincount(expected.flatten().long(), minlength=256)[:3].tolist()
    assert sum(summary.predicted) == 5 * SIZE * SIZE


def test_without_tags_labeller_changes_nothing() -> None:
    target = MemoryTargetSet(tags=False)
    label_target_set(Network(), target, 3, 0.4, image_labeller=LocalLabeller(Look(), 0.25, None))
    assert torch.equal(target.maps, expected_labels(target, 0.4))


def test_labeller_and_the_rule_for_normal_images_go_together() -> None:
    target = MemoryTargetSet()
    label_target_set(
        Network(), target, 3, 0.4, rules=[TagRule()], image_labeller=LocalLabeller(Look(), 0.25, None, portion=0.7)
    )
    expected, _ = expected_with_labeller(target, 0.4)
    assert (target.maps[[0, 4]] == NORMAL).all()
    assert torch.equal(target.maps[1:4], expected[1:4])


def test_a_stopped_pass_with_labeller_goes_on_to_the_same_labels(tmp_path: Path) -> None:
    straight, stopped = MemoryTargetSet(), MemoryTargetSet()
    stopped.cache = LogitCache(tmp_path / "logit_cache")
    whole, look = LocalLabeller(Look(), 0.25, None), Look()
    summary = label_target_set(Network(), straight, 3, 0.4, image_labeller=whole)

    def killed(images: Tensor) -> Tensor:
        if look.images == 4:
            raise KeyboardInterrupt
        return look(images)

    with pytest.raises(KeyboardInterrupt):
        label_target_set(Network(), stopped, 3, 0.4, image_labeller=LocalLabeller(killed, 0.25, None))
    assert stopped.cache.whole == 2
    rest = Look()
    again = LocalLabeller(rest, 0.25, None)
    assert label_target_set(Network(), stopped, 3, 0.4, image_labeller=again) == summary
    assert rest.images == 1  # of five: four were in the cache
    assert torch.equal(straight.maps, stopped.maps)
    assert again.segmenter_alone == whole.segmenter_alone and again.limit == whole.limit


def test_local_scores_that_are_not_finite_are_refused() -> None:
    labeller = LocalLabeller(lambda images: Look()(images) * torch.nan, 0.25, None)
    with pytest.raises(TrainingDiverged, match="not finite"):
        label_target_set(Network(), MemoryTargetSet(), 3, 0.4, image_labeller=labeller)


def test_scores_beyond_half_precision_are_kept_at_its_end() -> None:
    target = MemoryTargetSet()
    labeller = LocalLabeller(lambda images: 1e9 * Look()(images), 0.25, torch.tensor(0.0))
    label_target_set(Network(), target, 3, 0.4, image_labeller=labeller)
    lesions = target.maps[target.tags == LESION]
    assert labeller.limit == 32 and ((lesions > 0) & (lesions != IGNORE)).any() and (lesions == NORMAL).any()


def test_logits_that_cannot_be_written_end_the_pass(tmp_path: Path) -> None:
    target = MemoryTargetSet()
    target.cache = LogitCache(tmp_path / "logit_cache")
    (tmp_path / "logit_cache" / "000001.npy").mkdir(parents=True)  # a folder where the file should be
    with pytest.raises(CheckpointError, match="cannot write"):
        label_target_set(Network(), target, 3, 0.4)
