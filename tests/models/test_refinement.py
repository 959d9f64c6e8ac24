"""S2 refined by S1: from the first step on, what S1 takes for normal is left empty, and S2 never teaches S1."""

import math

import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL
from endotransfer.models.heads import LEAST_LOG_P, Refinement


def literal_product(logits: Tensor, tag_logits: Tensor) -> Tensor:
    """Each lesion logit plus log p(lesion) of the image's tag, number by number."""
    refined = logits.clone()
    for image in range(len(logits)):
        odds = (tag_logits[image, LESION] - tag_logits[image, NORMAL]).item()
        log_p = max(-math.log1p(math.exp(-odds)), LEAST_LOG_P)
        for k in range(LESION, logits.shape[1]):
            refined[image, k] += log_p
    return refined


@pytest.mark.parametrize("classes", [2, 5])
def test_it_starts_as_the_product_of_both_probabilities(classes: int) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, classes, 4, 4, generator=generator)
    tag_logits = 3 * torch.randn(3, 2, generator=generator)
    torch.testing.assert_close(Refinement(classes)(logits, tag_logits), literal_product(logits, tag_logits))


def test_an_image_taken_for_normal_is_left_empty_and_another_stays_as_it_is() -> None:
    """What was wrong: it started as the identity, and S1, right in 99 of 100 images, changed nothing on real data."""
    painted = torch.tensor([-1.0, 1.0]).view(1, 2, 1, 1).expand(2, 2, 8, 8)
    sure = torch.tensor([[6.0, -6.0], [-6.0, 6.0]])
    refined = Refinement(2)(painted, sure).argmax(1)
    assert (refined[0] == NORMAL).all() and (refined[1] == LESION).all()


def test_no_certainty_of_s1_drowns_s2() -> None:
    logits = torch.zeros(1, 2, 1, 1)
    refined = Refinement(2)(logits, torch.tensor([[100.0, -100.0]]))
    assert (refined[0, LESION] - refined[0, NORMAL]).item() == pytest.approx(math.log(1e-3))


def test_pixels_do_not_teach_s1_and_the_product_learns() -> None:
    refinement = Refinement(2)
    tag_logits = torch.zeros(1, 2, requires_grad=True)
    refinement(torch.randn(1, 2, 3, 3), tag_logits).square().sum().backward()
    assert tag_logits.grad is None
    weight = refinement.product.weight.grad
    assert weight is not None and (weight != 0).all()
