"""A carried mask stays on its lesion, and ends where it no longer holds, for the reason that is true."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from endotransfer.errors import DataError
from endotransfer.label_values import IGNORE
from endotransfer.predict.carry.carry_mask import carry_mask
from endotransfer.predict.carry.holds import Ending, Rules
from endotransfer.predict.prediction import Pixels
from tests.predict.carry.moving_lesion import Path2D, frames_of, iou, paint_lesion, wall, window

SIZE = (96, 144)
RULES = Rules(side=144)
SCENE = wall()
MASK = paint_lesion(SCENE, 240, 250, 22)


def smooth(index: int) -> tuple[float, float]:
    return 188 + 1.3 * index, 170 + 1.1 * index + 3 * float(np.sin(index / 5))


def truths(way: Path2D, count: int) -> list[Pixels]:
    return [(window(MASK, top, left, SIZE, 0) > 0.5).astype(np.uint8) for top, left in map(way, range(count))]


def carried(frames: Sequence[Pixels], mask: Pixels, rules: Rules = RULES) -> tuple[list[Pixels], Ending]:
    masks: list[Pixels] = []
    follow = carry_mask(frames[0], mask, frames[1:], rules)
    while True:
        try:
            masks.append(next(follow))
        except StopIteration as end:
            return masks, end.value


def test_it_holds_over_a_smooth_move() -> None:
    masks, ending = carried(frames_of(SCENE, smooth, 26, SIZE), truths(smooth, 1)[0])
    scores = [iou(mask, truth) for mask, truth in zip(masks, truths(smooth, 26)[1:], strict=True)]
    assert (len(masks), ending) == (25, "end")
    assert min(scores) >= 0.8, scores


def test_it_holds_while_the_light_fades() -> None:
    frames = [
        (frame * (1 - 0.02 * place)).astype(np.uint8) for place, frame in enumerate(frames_of(SCENE, smooth, 21, SIZE))
    ]
    masks, ending = carried(frames, truths(smooth, 1)[0])
    assert ending == "end" and iou(masks[-1], truths(smooth, 21)[-1]) >= 0.8


def test_it_stops_at_a_cut() -> None:
    frames = frames_of(SCENE, smooth, 8, SIZE) + frames_of(wall(9), smooth, 4, SIZE)
    masks, ending = carried(frames, truths(smooth, 1)[0])
    assert (len(masks), ending) == (7, "cut")


def test_it_stops_when_the_lesion_leaves_the_picture() -> None:
    def leaving(index: int) -> tuple[float, float]:
        return 195.0, 170 + 5.0 * index

    truth = truths(leaving, 26)
    masks, ending = carried(frames_of(SCENE, leaving, 26, SIZE), truth[0])
    assert ending == "area"
    gone = next(place for place, one in enumerate(truth) if one.sum() < 0.3 * truth[0].sum())
    assert 8 <= len(masks) <= gone
    assert all(iou(mask, one) > 0.7 for mask, one in zip(masks, truth[1:], strict=False))


def test_it_stops_when_the_lesion_is_no_longer_there() -> None:
    frames = frames_of(SCENE, smooth, 6, SIZE) + frames_of(wall(), smooth, 12, SIZE)[6:]
    masks, ending = carried(frames, truths(smooth, 1)[0])
    assert len(masks) == 5 and ending in ("area", "changed", "lost")


def test_it_ends_after_the_longest_way() -> None:
    masks, ending = carried(frames_of(SCENE, smooth, 5, SIZE), truths(smooth, 1)[0], Rules(side=144, longest=2))
    assert (len(masks), ending) == (2, "limit")


def test_labels_are_carried_as_they_are() -> None:
    mask = truths(smooth, 1)[0] * 3
    mask[:, : SIZE[1] // 3] = np.where(mask[:, : SIZE[1] // 3] == 0, IGNORE, mask[:, : SIZE[1] // 3])
    masks, _ = carried(frames_of(SCENE, smooth, 3, SIZE), mask)
    assert set(np.unique(masks[-1])) == {0, 3, IGNORE}


def test_frames_are_read_one_at_a_time_and_an_empty_mask_is_refused() -> None:
    read = 0

    def counted() -> Iterator[Pixels]:
        nonlocal read
        for frame in frames_of(SCENE, smooth, 6, SIZE)[1:]:
            read += 1
            yield frame

    start = frames_of(SCENE, smooth, 1, SIZE)[0]
    follow = carry_mask(start, truths(smooth, 1)[0], counted(), RULES)
    next(follow)
    assert read == 1
    with pytest.raises(DataError, match="nothing is marked"):
        next(carry_mask(start, np.zeros(SIZE, np.uint8), counted(), RULES))
