"""What is collected of each tagged image, alone or by several processes."""

import torch

from endotransfer.batch import LESION, NORMAL
from endotransfer.engine.tag_agreement import TagAgreement

MASK = torch.tensor([[0, 1], [2, 0]])
PROBABILITIES = torch.tensor([[[0.9, 0.2], [0.3, 0.6]], [[0.1, 0.7], [0.1, 0.2]], [[0.0, 0.1], [0.6, 0.2]]])


def collected() -> TagAgreement:
    agreement = TagAgreement()
    agreement.add(LESION, PROBABILITIES, MASK, 0.75, torch.tensor([[0, 1], [0, 1]]))
    return agreement


def test_an_image_adds_its_pixels_peak_and_agreement_with_the_student() -> None:
    agreement = collected()
    assert (agreement.lesion_pixels, agreement.pixels, agreement.tags) == ([2], [4], [LESION])
    assert agreement.peaks == [float(1 - torch.tensor(0.2))] and agreement.tag_probabilities == [0.75]
    assert agreement.teacher_student == [[[1, 1], [1, 1]]]  # each pair of (normal, lesion) once


def test_processes_are_merged_and_nothing_tagged_gives_no_figures() -> None:
    agreement = collected()
    agreement.merge(vars(collected()))
    agreement.add(NORMAL, PROBABILITIES, torch.zeros_like(MASK), 0.25, None)
    figures = agreement.figures()["tag_evidence"]
    assert isinstance(figures, dict)
    assert (figures["images"], figures["auroc_area"], figures["auroc_tag_head"]) == (3, 100, 100)
    assert TagAgreement().figures() == {}
