"""Flip-averaged predictions, against plain loops over probabilities."""

import math

import pytest
import torch
from torch import Tensor

from endotransfer.batch import SegOutput
from endotransfer.pseudo_labels.flip_average import flip_averaged
from endotransfer.pseudo_labels.log_odds import predicted_log_odds
from tests import literal


def lopsided(images: Tensor) -> SegOutput:
    """Logits that depend on where a pixel lies, as those of a network with padding do."""
    slope = torch.linspace(-2, 2, images.shape[-1], dtype=images.dtype)
    return SegOutput(images + slope * torch.tensor([0.0, 1.0, -1.0], dtype=images.dtype).view(3, 1, 1), None, images)


def test_logits_are_logs_of_the_mean_probability_of_image_and_mirror_image() -> None:
    images = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = flip_averaged(lopsided)(images).logits
    plain, mirrored = lopsided(images).logits, lopsided(images.flip(-1)).logits
    for image in range(2):
        for row in range(4):
            for column in range(5):
                one = literal.softmax(plain[image, :, row, column].tolist())
                other = literal.softmax(mirrored[image, :, row, 4 - column].tolist())
                expected = [math.log((p + q) / 2) for p, q in zip(one, other, strict=True)]
                assert found[image, :, row, column].tolist() == pytest.approx(expected, rel=1e-9)


def test_the_mirror_image_gets_the_mirrored_prediction() -> None:
    images = torch.rand(2, 3, 4, 6)
    predict = flip_averaged(lopsided)
    torch.testing.assert_close(predict(images.flip(-1)).logits, predict(images).logits.flip(-1))
    assert not torch.allclose(lopsided(images.flip(-1)).logits, lopsided(images).logits.flip(-1))


def test_saturated_predictions_keep_their_log_odds() -> None:
    """Both probabilities are 1.0 in float32; the log-odds of their mean are not infinite."""

    def certain(images: Tensor) -> SegOutput:
        return SegOutput(torch.tensor([90.0, 0.0]).view(1, 2, 1, 1).expand(1, 2, 2, 2), None, images)

    odds, predicted = predicted_log_odds(flip_averaged(certain)(torch.zeros(1, 3, 2, 2)).logits)
    assert odds.flatten().tolist() == pytest.approx([90.0] * 4) and not predicted.any()
