"""Which pixels are pasted, against a twin that walks over classes and pixels."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.data.pipeline.class_mix import chosen_classes, pixels_of
from tests.properties import examples


@st.composite
def cases(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Masks [B, H, W] with unlabelled pixels, chances [B, K]."""
    images, classes, height, width = (draw(st.integers(*limits)) for limits in ((1, 3), (2, 6), (1, 4), (1, 4)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    masks = torch.randint(0, draw(st.integers(1, classes)) + 1, (images, height, width), generator=generator)
    return masks.where(masks < classes, IGNORE), torch.rand(images, classes, generator=generator)


def literal_choice(mask: list[int], chances: list[float]) -> set[int]:
    """One image: its classes in the order of their chances, of which the first half is taken."""
    present = [label for label in range(len(chances)) if label in mask]
    if len(present) == 1:
        return set()
    return set(sorted(present, key=lambda label: chances[label])[: math.ceil(len(present) / 2)])


@given(cases())
@examples(200)
def test_equals_the_literal_twin(case: tuple[Tensor, Tensor]) -> None:
    masks, chances = case
    chosen = chosen_classes(masks, chances)
    pasted = pixels_of(masks, chosen)
    for image, (mask, own) in enumerate(zip(masks.flatten(1).tolist(), chances.tolist(), strict=True)):
        expected = literal_choice(mask, own)
        assert set(chosen[image].nonzero().flatten().tolist()) == expected
        assert pasted[image].flatten().tolist() == [label in expected for label in mask]


def test_of_normal_and_lesion_either_is_pasted_as_often() -> None:
    masks = torch.tensor([[[0, 1]]]).expand(4000, 1, 2)
    chosen = chosen_classes(masks, torch.rand(4000, 2, generator=torch.Generator().manual_seed(0)))
    assert (chosen.sum(1) == 1).all()
    assert 1850 < chosen[:, 1].sum() < 2150  # four standard deviations are 126


def test_an_image_of_one_class_is_not_pasted_and_one_of_three_gives_two() -> None:
    masks = torch.tensor([[[0, 0, IGNORE]], [[0, 3, 1]], [[IGNORE] * 3]])
    assert chosen_classes(masks, torch.rand(3, 4)).sum(1).tolist() == [0, 2, 0]
