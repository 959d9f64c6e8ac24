"""Tags as masks: what an image tagged normal, or lesion, adds to the loss."""

import math

import pytest
import torch

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, TargetBatch
from endotransfer.losses.supervised_terms import missed_term, normal_term
from endotransfer.losses.tag_loss import missed_lesion_loss
from tests import literal

TAGS = torch.tensor([NORMAL, LESION, UNKNOWN_TAG, NORMAL])
IMAGES = torch.zeros(4, 3, 3, 3)


@pytest.mark.parametrize("classes", [2, 5])
def test_images_tagged_normal_are_normal_on_every_pixel_and_no_other_image_counts(classes: int) -> None:
    logits = torch.randn(4, classes, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    terms = []
    for image, tag in zip(logits, TAGS.tolist(), strict=True):
        if tag == NORMAL:
            terms += [-math.log(literal.softmax(pixel)[0]) for pixel in image.flatten(1).T.tolist()]
    found = normal_term(0.5, TargetBatch(IMAGES, TAGS), logits)
    assert found["normal_target"].item() == pytest.approx(0.5 * sum(terms) / len(terms))


def test_without_a_weight_or_tags_there_is_no_term() -> None:
    logits = torch.zeros(4, 2, 3, 3)
    for term in (normal_term, missed_term):
        assert term(0.0, TargetBatch(IMAGES, TAGS), logits) == {}
        assert term(1.0, TargetBatch(IMAGES, None), logits) == {}


def test_missed_lesions_count_with_their_weight() -> None:
    logits = torch.zeros(4, 2, 3, 3)
    logits[:, NORMAL] = 2.0
    loss = missed_lesion_loss(logits, TAGS).item()
    assert missed_term(0.03, TargetBatch(IMAGES, TAGS), logits)["missed"].item() == pytest.approx(0.03 * loss)
