"""Labels by activation maps: thresholds pixel by pixel, and a pass over a set."""

from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, UNKNOWN_TAG
from endotransfer.models.activation_maps import normalised
from endotransfer.pseudo_labels.label_by_activation import activation_labels, label_by_activation, refined
from tests.pseudo_labels.memory_target_set import TAGS, EmptySet, MemoryTargetSet


def literal_labels(cells: list[float], tag: int, low: float, high: float) -> list[int]:
    if tag == NORMAL:
        return [NORMAL for _ in cells]
    if tag == UNKNOWN_TAG or max(cells) == 0:
        return [IGNORE for _ in cells]
    return [LESION if cell > high else NORMAL if cell < low else IGNORE for cell in cells]


def redness(images: Tensor) -> Tensor:
    return (images[:, 0] - 0.4).relu()


def test_labels_are_the_literal_ones() -> None:
    maps = torch.rand(7, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    maps[5:] = 0
    maps[0, 0, :3] = torch.tensor([0.7, 0.25, 1.0], dtype=torch.float64)  # on a threshold is between
    tags = torch.tensor([LESION, LESION, NORMAL, UNKNOWN_TAG, LESION, LESION, NORMAL])
    found = activation_labels(maps, tags, 0.25, 0.7)
    assert found.dtype == torch.uint8
    for labels, cells, tag in zip(found, maps, tags.tolist(), strict=True):
        assert labels.flatten().tolist() == literal_labels(cells.flatten().tolist(), tag, 0.25, 0.7)


@pytest.mark.parametrize("refine", [True, False])
def test_a_pass_labels_every_image_and_reports_what_it_labelled(refine: bool) -> None:
    target = MemoryTargetSet()
    figures = label_by_activation(redness, target, 0.25, 0.7, refine=refine)
    found = redness(target.images)
    maps = normalised(refined(found, target.images) if refine else found)
    assert torch.equal(target.maps, activation_labels(maps, torch.tensor(TAGS), 0.25, 0.7))
    lesion = target.maps[torch.tensor(TAGS) == LESION]
    assert figures == pytest.approx(
        {
            "coverage": (target.maps != IGNORE).double().mean().item(),
            "normal_in_lesion_images": (lesion == NORMAL).double().mean().item(),
            "lesion_in_lesion_images": (lesion == LESION).double().mean().item(),
        }
    )
    assert 0 < figures["normal_in_lesion_images"] < 1


def test_a_process_without_images_labels_nothing() -> None:
    assert set(label_by_activation(redness, EmptySet(), 0.25, 0.7).values()) == {0.0}


def test_a_small_lesion_keeps_its_labels_through_refinement() -> None:
    """The mean over neighbours halves its map, and 0.7 of the image's range is still reached."""
    images = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    found = torch.zeros(1, 64, 64)
    found[:, 30:33, 30:33] = 1.0
    better = refined(found, images)
    assert better.max() < 0.7
    labels = activation_labels(normalised(better), torch.tensor([LESION]), 0.25, 0.7)
    assert (labels == LESION).any() and (labels == NORMAL).double().mean() > 0.5


@pytest.mark.parametrize(
    ("side", "seen", "dilations"), [(16, 16, [1, 2]), (64, 64, [1, 2, 4, 8]), (448, 224, [1, 2, 4, 8, 12, 24])]
)
def test_neighbours_are_as_far_as_the_image_is_large(side: int, seen: int, dilations: list[int]) -> None:
    with patch(
        "endotransfer.pseudo_labels.label_by_activation.refine_by_colour", side_effect=lambda maps, *_: maps
    ) as refine:
        assert refined(torch.rand(9, side, side), torch.rand(9, 3, side, side)).shape == (9, side, side)
    assert [call.args[0].shape for call in refine.call_args_list] == [(8, seen, seen), (1, seen, seen)]
    assert [call.args[2] for call in refine.call_args_list] == [dilations, dilations]
