"""What is collected of each tagged image, alone or by several processes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from endotransfer.batch import LESION, NORMAL
from endotransfer.engine.tag_agreement import TagAgreement
from endotransfer.metrics import confusion

MASK = np.array([[0, 1], [2, 0]], np.uint8)


def collected() -> TagAgreement:
    agreement = TagAgreement()
    agreement.add(LESION, 0.8, MASK, 0.75, np.array([[0, 1], [0, 1]], np.uint8))
    return agreement


def test_an_image_adds_its_pixels_peak_and_agreement_with_the_student() -> None:
    agreement = collected()
    assert (agreement.lesion_pixels, agreement.pixels, agreement.tags) == ([2], [4], [LESION])
    assert agreement.peaks == [0.8] and agreement.tag_probabilities == [0.75]
    assert agreement.teacher_student == [[[1, 1], [1, 1]]]  # each pair of (normal, lesion) once


def test_processes_are_merged_and_nothing_tagged_gives_no_figures() -> None:
    agreement = collected()
    agreement.merge(vars(collected()))
    agreement.add(NORMAL, 0.1, np.zeros_like(MASK), 0.25, None)
    figures = agreement.figures()["tag_evidence"]
    assert isinstance(figures, dict)
    assert (figures["images"], figures["auroc_area"], figures["auroc_tag_head"]) == (3, 100, 100)
    assert TagAgreement().figures() == {}


MASKS = arrays(np.uint8, (5, 4), elements=st.integers(0, 2))


@given(MASKS, MASKS)
def test_agreement_with_the_student_is_the_confusion_of_lesion_and_normal(
    mask: np.ndarray[tuple[int, int], np.dtype[np.uint8]], student: np.ndarray[tuple[int, int], np.dtype[np.uint8]]
) -> None:
    agreement = TagAgreement()
    agreement.add(LESION, 1.0, mask, None, student)
    expected = confusion((mask != 0).astype(np.uint8), (student != 0).astype(np.uint8), 2)
    assert agreement.teacher_student == [expected.tolist()]
