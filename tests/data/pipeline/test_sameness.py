"""Batches that depend on the step alone: not on workers, processes, or where a run was taken up again."""

import numpy as np
import pytest
import torch

from endotransfer.data.pipeline.stream import Stream
from tests.data.pipeline.disk import AUGMENT, Disk, MakeBatches, assert_equal, decoded, flat


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_change_nothing(make_batches: MakeBatches, workers: int) -> None:
    alone, helped = make_batches(), make_batches(workers=workers)
    for first, last, pass_epoch in ((0, 6, 1), (6, 9, 2), (2, 4, 1)):  # the processes stay, the plan changes
        assert_equal(
            list(alone.batches(first, last, pass_epoch=pass_epoch)),
            list(helped.batches(first, last, pass_epoch=pass_epoch)),
        )


def test_an_iteration_left_early_does_not_leak_into_the_next(make_batches: MakeBatches) -> None:
    batch_source = make_batches(workers=2)
    left = batch_source.batches(0, 50, pass_epoch=1)
    next(left)
    assert_equal(list(batch_source.batches(3, 6, pass_epoch=2)), list(make_batches().batches(3, 6, pass_epoch=2)))


def test_keeping_images_in_memory_changes_nothing(make_batches: MakeBatches) -> None:
    assert_equal(list(make_batches().batches(0, 4)), list(make_batches(cache=False).batches(0, 4)))


def test_a_run_taken_up_in_the_middle_equals_the_straight_run(make_batches: MakeBatches) -> None:
    straight = list(make_batches().batches(0, 12))
    assert_equal(straight[5:], list(make_batches().batches(5, 12)))


def test_two_processes_together_see_what_one_sees(make_batches: MakeBatches) -> None:
    batch_source = make_batches()
    alone = [flat(batch) for batch in batch_source.batches(0, 5)]
    ranks = [[flat(batch) for batch in batch_source.batches(0, 5, rank=rank, world_size=2)] for rank in (0, 1)]
    for whole, one, two in zip(alone, *ranks, strict=True):
        for name in ("target.images", "target.stored", "target.superpixels", "target.tags", "source.masks"):
            assert torch.equal(whole[name], torch.cat([one[name], two[name]])), name
        # Of the source, each process has its masked images first: 1 of 2 masked, 1 of 2 tag-only.
        both = [one["source.images"][0], two["source.images"][0], one["source.images"][1], two["source.images"][1]]
        assert torch.equal(whole["source.images"], torch.stack(both))


def test_each_pass_is_augmented_anew(disk: Disk) -> None:
    stream = Stream("target", decoded(disk.target), seed=3, augment=AUGMENT)
    views: dict[str, set[bytes]] = {}
    for position in range(7 * 5):
        item = stream[position, None]
        views.setdefault(item.key, set()).add(item.image.numpy().tobytes())
    assert {key: len(seen) for key, seen in views.items()} == {sample.key: 5 for sample in disk.target}


def test_training_s_random_numbers_are_not_touched(make_batches: MakeBatches) -> None:
    before = torch.get_rng_state(), repr(np.random.get_state(legacy=False))
    for workers in (0, 1):
        list(make_batches(workers=workers).batches(0, 2))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert repr(np.random.get_state(legacy=False)) == before[1]
