"""A teacher's labels and their quality against a twin over plain lists."""

import math

import pytest
import torch

from endotransfer.losses.teacher_labels import labels_and_quality


def literal_labels(pixels: list[list[float]], threshold: float) -> tuple[list[int], float]:
    """One image: pixels -> logits."""
    labels, sure = [], 0
    for logits in pixels:
        shares = [math.exp(value) / sum(map(math.exp, logits)) for value in logits]
        labels.append(shares.index(max(shares)))
        sure += max(shares) >= threshold
    return labels, sure / len(pixels)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("threshold", [0.5, 0.968])
def test_equals_the_literal_twin(classes: int, threshold: float) -> None:
    logits = 4 * torch.randn(3, classes, 6, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels, quality = labels_and_quality(logits, threshold)
    for image in range(3):
        expected, share = literal_labels(logits[image].flatten(1).T.tolist(), threshold)
        assert labels[image].flatten().tolist() == expected
        assert quality[image].item() == pytest.approx(share)
        assert 0 < share <= 1


def test_the_share_is_of_each_image_and_half_precision_is_raised() -> None:
    logits = torch.zeros(2, 2, 2, 2, dtype=torch.bfloat16)
    logits[0, 1, 0] = 9.0
    labels, quality = labels_and_quality(logits, 0.968)
    assert labels.tolist() == [[[1, 1], [0, 0]], [[0, 0], [0, 0]]]
    assert quality.tolist() == [0.5, 0.0] and quality.dtype == torch.float32
