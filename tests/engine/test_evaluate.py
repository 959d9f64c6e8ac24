"""Every test image is scored, once, at its own size."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, Sample, SegOutput
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.evaluate import evaluate_samples
from endotransfer.engine.inferred_group import MOST_VALUES
from endotransfer.errors import CheckpointError, DataError

CPU = torch.device("cpu")


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    """Bright squares on black, each image of another size; the bright part is the lesion."""
    made = []
    for index in range(101):
        size = 32 + index % 7
        pixels = np.zeros((size, size + 3, 3), np.uint8)
        if index % 2:
            pixels[8:24, 8:24] = 255
        image, mask = tmp_path / f"{index}.png", tmp_path / f"{index}-mask.png"
        Image.fromarray(pixels).save(image)
        Image.fromarray(pixels[:, :, 0]).save(mask)
        made.append(Sample(f"f/{index}", image, mask, LESION if index % 2 else NORMAL))
    return made


def bright_is_lesion(images: Tensor) -> SegOutput:
    logit = 20 * (images.mean(1, keepdim=True) - 0.5)
    present = images.amax((1, 2, 3))
    return SegOutput(torch.cat([-logit, logit], 1), torch.stack([1 - present, present], 1), images)


@pytest.mark.parametrize("batch", [1, 7, 16, 200])
def test_no_image_is_lost_whatever_the_batch(samples: list[Sample], batch: int) -> None:
    scores, agreement = evaluate_samples(bright_is_lesion, samples, Classes(), (40, 40), CPU, batch=batch)
    assert {image.key for image in scores.images()} == {sample.key for sample in samples}
    assert agreement["tag_evidence"]["images"] == len(samples)


def test_a_perfect_rule_scores_nearly_perfectly_at_the_masks_own_size(samples: list[Sample]) -> None:
    scores, agreement = evaluate_samples(bright_is_lesion, samples, Classes(), (64, 64), CPU, student=bright_is_lesion)
    summary = scores.summary(resamples=20)
    assert summary["iou_lesion"] > 90
    assert summary["tags"]["auroc"] == 100
    assert agreement["tag_evidence"]["auroc_area"] == 100
    assert agreement["tag_evidence"]["teacher_student_iou"] == 100
    assert sum(int(image.matrix.sum()) for image in scores.images()) == sum(
        (32 + index % 7) * (35 + index % 7) for index in range(101)
    )


def test_images_counted_together_score_as_each_by_itself(
    samples: list[Sample], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU: images of one size, with masks or without, are counted in one go, a few at a time."""
    by_size = sorted(samples, key=lambda sample: int(sample.key.split("/")[1]) % 7)
    mixed = [replace(sample, mask=None) if index % 5 == 0 else sample for index, sample in enumerate(by_size)]

    def evaluated() -> tuple[object, object]:
        scores, figures = evaluate_samples(
            bright_is_lesion, mixed, Classes(), (40, 40), CPU, student=bright_is_lesion, pranet=True
        )
        return scores.rows(), figures

    alone = evaluated()
    monkeypatch.setitem(MOST_VALUES, "cpu", 3 * 2 * 35 * 38)
    assert evaluated() == alone


def test_images_without_masks_leave_only_what_tags_can_tell(samples: list[Sample]) -> None:
    bare = [Sample(sample.key, sample.image, None, sample.tag) for sample in samples[:10]]
    scores, agreement = evaluate_samples(bright_is_lesion, bare, Classes(), (32, 32), CPU)
    assert scores.summary(resamples=5)["miou"] is None
    assert "not an IoU" in agreement["tag_evidence"]["note"]


def test_progress_is_told_and_a_wrong_size_named(samples: list[Sample], tmp_path: Path) -> None:
    told: list[int] = []
    evaluate_samples(bright_is_lesion, samples, Classes(), (32, 32), CPU, progress=told.append)
    assert sum(told) == len(samples)
    Image.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "3-mask.png")
    with pytest.raises(DataError, match=r"3-mask\.png"):
        evaluate_samples(bright_is_lesion, samples, Classes(), (32, 32), CPU)


def test_calibration_is_measured_over_the_same_pixels_whatever_the_batch(samples: list[Sample]) -> None:
    found = [
        evaluate_samples(bright_is_lesion, samples, Classes(), (40, 40), CPU, batch=batch)[1]["calibration"]
        for batch in (1, 16)
    ]
    assert found[0] == found[1]
    assert found[0].pixels == sum((32 + index % 7) * (35 + index % 7) for index in range(101))
    assert found[0].lesion_precision > 90 and found[0].ece < 5


def test_without_masks_nothing_is_said_of_calibration(samples: list[Sample]) -> None:
    bare = [Sample(sample.key, sample.image, None, sample.tag) for sample in samples[:4]]
    assert "calibration" not in evaluate_samples(bright_is_lesion, bare, Classes(), (32, 32), CPU)[1]


def test_a_network_that_says_nothing_finite_is_refused(samples: list[Sample]) -> None:
    def broken_for_one(images: Tensor) -> SegOutput:
        output = bright_is_lesion(images)
        output.logits[0, 0, 3, 3] = torch.inf - torch.inf
        return output

    with pytest.raises(CheckpointError, match="output is not finite"):
        evaluate_samples(broken_for_one, samples, Classes(), (40, 40), CPU)
