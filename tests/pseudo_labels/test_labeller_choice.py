"""Whom a run believes: judged once, kept, said; and what the experiment says goes before it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.errors import DataError
from endotransfer.pseudo_labels.labeller_choice import LabellerChoice, LesionLabeller
from endotransfer.pseudo_labels.local_labeller import BELIEVED, LocalLabeller


def found(believed: float, auroc: float, gap: float) -> LocalLabeller:
    figures = {"believed": believed, "tag_auroc": auroc, "localisation_gap": gap}
    return cast(LocalLabeller, SimpleNamespace(**{name: torch.tensor(value) for name, value in figures.items()}))


def judged(lesion_labeller: LesionLabeller = "judge", *first: float) -> LabellerChoice:
    verdict = LabellerChoice(lesion_labeller)
    verdict.take(found(*(first or (0.0, 0.53, 0.02))), 0)
    return verdict


def said(verdict: LabellerChoice) -> dict[str, Any]:
    findings = verdict.findings()
    assert findings["remarks"] == [verdict.sentence()]
    return findings["local_evidence"]


def test_the_first_pass_judges_and_later_ones_go_by_it() -> None:
    verdict = LabellerChoice()
    assert verdict.before(0) is None
    verdict.take(found(1.0, 0.82, 0.1), 0)
    assert verdict.before(1) == 1
    verdict.take(found(0.0, 0.4, -0.1), 1)  # what the segmenter has learnt since is not asked
    assert verdict.before(2) == 1 and said(verdict)["tag_auroc"] == pytest.approx(0.82)


@pytest.mark.parametrize("lesion_labeller, trust", [("segmenter", 1.0), ("evidence", 0.0)])
def test_the_experiment_decides_before_the_first_pass(lesion_labeller: LesionLabeller, trust: float) -> None:
    assert all(LabellerChoice(lesion_labeller).before(number) == trust for number in (0, 1))


@pytest.mark.parametrize("tags", [[LESION, LESION], [LESION, UNKNOWN_TAG], None])
def test_local_evidence_is_not_believed_where_no_image_is_tagged_normal(tags: list[int] | None) -> None:
    def target(*some: int) -> Any:
        batches = [SimpleNamespace(tags=None if tags is None else torch.tensor([*tags, *some]))]
        return SimpleNamespace(without_images=lambda: iter(batches))

    with pytest.raises(DataError, match=r"no target image is tagged normal.*leave out method\.lesion_labeller"):
        LabellerChoice("evidence").check(target())
    LabellerChoice("judge").check(target())
    LabellerChoice("segmenter").check(target())
    if tags is not None:
        LabellerChoice("evidence").check(target(NORMAL))


def test_it_is_kept_with_the_weights_and_finite_before_anything_was_asked() -> None:
    resumed, verdict = LabellerChoice(), judged("judge", 1.0, 0.75, 0.01)
    assert all(value.isfinite().all() for value in resumed.state_dict().values())
    assert not list(verdict.parameters())
    resumed.load_state_dict(verdict.state_dict())
    assert resumed.findings() == verdict.findings() and resumed.before(1) == 1


@pytest.mark.parametrize(
    "lesion_labeller, first, believed, decided, words",
    [
        (
            "judge",
            (0.0, 0.53, 0.02),
            "evidence",
            "judge",
            ["with local evidence", "did not tell", "lesion_labeller=segmenter"],
        ),
        (
            "judge",
            (1.0, 0.82, 0.1),
            "segmenter",
            "judge",
            ["by the segmenter alone", " told ", "lesion_labeller=evidence"],
        ),
        (
            "evidence",
            (0.0, 0.82, 0.1),
            "evidence",
            "experiment",
            ["with local evidence", "as method.lesion_labeller says"],
        ),
        (
            "segmenter",
            (1.0, 0.53, -0.1),
            "segmenter",
            "experiment",
            ["by the segmenter alone", "as method.lesion_labeller"],
        ),
    ],
)
def test_people_and_programs_are_told_who_labels_and_why(
    lesion_labeller: LesionLabeller, first: tuple[float, ...], believed: str, decided: str, words: list[str]
) -> None:
    verdict = judged(lesion_labeller, *first)
    figures = said(verdict)
    assert (figures["believed"], figures["decided_by"]) == (believed, decided)
    assert (figures["tag_auroc"], figures["localisation_gap"]) == pytest.approx(first[1:])
    for word in [*words, f"{first[1]:.2f}", f"{first[2]:+.3f}"]:
        assert word in verdict.sentence()
    assert (str(BELIEVED) in verdict.sentence()) == (lesion_labeller == "judge")


@pytest.mark.parametrize("lesion_labeller", ["judge", "segmenter"])
def test_where_one_kind_of_tag_is_missing_there_are_no_figures(lesion_labeller: LesionLabeller) -> None:
    verdict = judged(lesion_labeller, 1.0, float("nan"), float("nan"))
    assert said(verdict)["tag_auroc"] is None and said(verdict)["localisation_gap"] is None
    assert "one kind of tag is missing" in verdict.sentence() and "nan" not in verdict.sentence()
