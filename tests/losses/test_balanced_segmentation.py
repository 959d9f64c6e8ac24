"""Both sides have half a say, however few pixels one of them has."""

import math

import pytest
import torch

from endotransfer.batch import IGNORE, LESION, NORMAL
from endotransfer.losses.balanced_segmentation import segmentation_by_side


def literal_by_side(logits: list[list[float]], labels: list[int]) -> float:
    sides: dict[bool, list[float]] = {True: [], False: []}
    for pixel, label in zip(logits, labels, strict=True):
        if label != IGNORE:
            powers = [math.exp(logit) for logit in pixel]
            sides[label == NORMAL].append(-math.log(powers[label] / sum(powers)))
    return sum(sum(side) / len(side) / 2 for side in sides.values() if side)


@pytest.mark.parametrize("choices", [[NORMAL, LESION, 2, IGNORE], [NORMAL, IGNORE], [LESION], [IGNORE]])
def test_it_is_the_literal_one(choices: list[int]) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 3, 4, dtype=torch.float64, generator=generator)
    labels = torch.tensor(choices)[torch.randint(len(choices), (2, 3, 4), generator=generator)]
    expected = literal_by_side(logits.movedim(1, -1).flatten(0, 2).tolist(), labels.flatten().tolist())
    assert segmentation_by_side(logits, labels.to(torch.uint8)).item() == pytest.approx(expected)


def test_one_lesion_pixel_weighs_as_much_as_all_normal_ones() -> None:
    logits = torch.zeros(1, 2, 10, 10)
    labels = torch.zeros(1, 10, 10, dtype=torch.uint8)
    labels[0, 0, 0] = LESION
    logits[:, NORMAL] = 5.0  # right everywhere but there
    assert segmentation_by_side(logits, labels).item() == pytest.approx(2.5 + math.log1p(math.exp(-5)), rel=1e-4)
