"""One number an image against its tag: S1, and a hospital without target masks."""

import json
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchmetrics.functional.classification import binary_auroc

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.errors import DataError
from endotransfer.metrics import accuracy, auroc, confusion, tag_evidence
from tests.properties import examples


def literal_auroc(scores: Iterable[float], tags: Iterable[int]) -> float | None:
    """Every lesion image against every normal one."""
    lesions = [s for s, t in zip(scores, tags, strict=True) if t == LESION]
    normals = [s for s, t in zip(scores, tags, strict=True) if t == NORMAL]
    if not lesions or not normals:
        return None
    wins = sum((a > b) + 0.5 * (a == b) for a in lesions for b in normals)
    return wins / (len(lesions) * len(normals))


tagged_scores = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([NORMAL, LESION, UNKNOWN_TAG])), max_size=20)


@examples(300)
@given(tagged_scores)
def test_auroc_equals_comparing_every_pair(answers: list[tuple[int, int]]) -> None:
    scores, tags = [score / 5 for score, _ in answers], [tag for _, tag in answers]
    expected = literal_auroc(scores, tags)
    assert auroc(scores, tags) == (None if expected is None else pytest.approx(expected))


def test_torchmetrics_agrees_on_auroc() -> None:
    rng = np.random.default_rng(0)
    scores, tags = rng.random(200), rng.integers(0, 2, 200)
    theirs = binary_auroc(torch.from_numpy(scores), torch.from_numpy(tags))
    assert auroc(scores, tags) == pytest.approx(float(theirs), rel=1e-6)


@pytest.mark.parametrize("tags", [[LESION, LESION], [NORMAL, NORMAL], [UNKNOWN_TAG, LESION]])
def test_one_kind_of_tag_has_no_auroc(tags: list[int]) -> None:
    assert auroc([0.1, 0.9], tags) is None


def test_scores_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match="1 image scores are not finite"):
        auroc([np.nan, 0.5], [LESION, NORMAL])


def test_accuracy_passes_over_images_without_tag() -> None:
    assert accuracy([1, 0, 1, 1], [LESION, NORMAL, NORMAL, UNKNOWN_TAG]) == pytest.approx(2 / 3)
    assert accuracy([1], [UNKNOWN_TAG]) is None


TAGS = [LESION, LESION, LESION, NORMAL, NORMAL, UNKNOWN_TAG]
PIXELS = [100, 400, 100, 100, 300, 100]
PAINTED = [20, 40, 0, 0, 60, 90]


def test_what_tags_can_tell() -> None:
    figures = tag_evidence(PAINTED, PIXELS, TAGS)["tag_evidence"]
    assert figures["note"] == "no target masks were used; this is not an IoU"
    assert (figures["images"], figures["normal_images"], figures["lesion_images"]) == (6, 2, 3)
    expected = literal_auroc(np.array(PAINTED) / np.array(PIXELS), TAGS)
    assert expected == 0.5 and figures["auroc_area"] == pytest.approx(100 * expected)
    assert figures["lesion_pixels_on_normal_images"] == pytest.approx(100 * 60 / 400)
    assert figures["normal_images_with_lesion_pixel"] == pytest.approx(50)
    assert figures["lesion_images_with_lesion_pixel"] == pytest.approx(200 / 3)
    assert figures["auroc_peak"] is None and figures["teacher_student_iou"] is None


def test_peaks_and_a_teacher_add_their_figures() -> None:
    student, teacher = np.array([[0, 1, 1, 0]]), np.array([[0, 0, 1, 1]])
    agreement = [confusion(student, teacher, 2), confusion(student, student, 2)]
    peaks = [0.9, 0.8, 0.4, 0.3, 0.6, 0.99]
    figures = tag_evidence(PAINTED, PIXELS, TAGS, peaks, agreement)["tag_evidence"]
    assert figures["auroc_peak"] == pytest.approx(100 * 5 / 6)
    assert figures["teacher_student_iou"] == pytest.approx(100 * (1 + 2) / (3 + 2))


def test_without_normal_images_their_figures_do_not_exist() -> None:
    result = tag_evidence([1, 2], [9, 9], [LESION, LESION])
    assert list(result) == ["tag_evidence"]
    figures = result["tag_evidence"]
    assert figures["auroc_area"] is figures["lesion_pixels_on_normal_images"] is None
    assert figures["lesion_images_with_lesion_pixel"] == 100
    json.dumps(result, allow_nan=False)


def test_importing_metrics_does_not_import_sklearn_or_scipy() -> None:
    import subprocess
    import sys

    code = "import sys, endotransfer.metrics; print([m for m in ('sklearn', 'scipy') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
