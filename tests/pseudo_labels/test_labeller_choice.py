"""Who labels images tagged lesion: decided once, saved and reported; a setting of the experiment comes first."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.errors import DataError
from endotransfer.pseudo_labels.labeller_choice import LabellerChoice, LesionLabeller
from endotransfer.pseudo_labels.local_labeller import ENOUGH_AUROC, LocalLabeller


def pass_with(alone: float, auroc: float, gap: float) -> LocalLabeller:
    """An image labeller whose pass found these figures."""
    figures = {"segmenter_alone": alone, "tag_auroc": auroc, "localisation_gap": gap}
    return cast(LocalLabeller, SimpleNamespace(**{name: torch.tensor(value) for name, value in figures.items()}))


def after_first_pass(lesion_labeller: LesionLabeller, *figures: float) -> LabellerChoice:
    choice = LabellerChoice(lesion_labeller)
    choice.take(pass_with(*figures), 0)
    return choice


def reported(choice: LabellerChoice) -> dict[str, Any]:
    return cast(dict[str, Any], choice.figures())


def test_the_first_pass_decides_and_later_ones_follow() -> None:
    choice = LabellerChoice()
    assert choice.before(0) is None
    choice.take(pass_with(1.0, 0.82, 0.1), 0)
    assert choice.before(1) == 1
    choice.take(pass_with(0.0, 0.4, -0.1), 1)  # what the segmenter has learnt since does not count
    assert choice.before(2) == 1 and reported(choice)["tag_auroc"] == pytest.approx(0.82)


def test_where_source_lesions_mislead_the_segmenter_is_not_asked_unless_the_experiment_says_so() -> None:
    choice = LabellerChoice()
    assert choice.before(0, misled=True) == 0  # whatever the first pass might find
    choice.take(pass_with(0.0, 0.72, 0.08), 0)
    assert not choice.alone() and choice.before(1, misled=True) == 0
    said = choice.sentence(misled=True)
    assert "with local features" in said and "do not look like" in said and "0.72" in said
    assert "lesion_labeller=segmenter overrides" in said
    assert LabellerChoice("segmenter").before(0, misled=True) == 1


@pytest.mark.parametrize("lesion_labeller, alone", [("segmenter", 1.0), ("local", 0.0)])
def test_the_experiment_decides_before_the_first_pass(lesion_labeller: LesionLabeller, alone: float) -> None:
    assert all(LabellerChoice(lesion_labeller).before(number) == alone for number in (0, 1))


@pytest.mark.parametrize("tags", [[LESION, LESION], [LESION, UNKNOWN_TAG], None])
def test_the_local_labeller_is_refused_where_no_image_is_tagged_normal(tags: list[int] | None) -> None:
    def target(*some: int) -> Any:
        batches = [SimpleNamespace(tags=None if tags is None else torch.tensor([*tags, *some]))]
        return SimpleNamespace(without_images=lambda: iter(batches))

    with pytest.raises(DataError, match=r"no target image is tagged normal.*leave out method\.lesion_labeller"):
        LabellerChoice("local").check(target())
    LabellerChoice("auto").check(target())
    LabellerChoice("segmenter").check(target())
    if tags is not None:
        LabellerChoice("local").check(target(NORMAL))


def test_the_decision_is_saved_with_the_weights_and_finite_before_the_first_pass() -> None:
    resumed, choice = LabellerChoice(), after_first_pass("auto", 1.0, 0.75, 0.01)
    assert all(value.isfinite().all() for value in resumed.state_dict().values())
    assert not list(choice.parameters())
    resumed.load_state_dict(choice.state_dict())
    assert resumed.figures() == choice.figures() and resumed.sentence() == choice.sentence() and resumed.before(1) == 1


@pytest.mark.parametrize(
    "lesion_labeller, first, used, decided_by, words",
    [
        (
            "auto",
            (0.0, 0.53, 0.02),
            "local",
            "auto",
            ["with local features", "did not separate", "lesion_labeller=segmenter"],
        ),
        (
            "auto",
            (1.0, 0.82, 0.1),
            "segmenter",
            "auto",
            ["by the segmenter alone", " separated ", "lesion_labeller=local"],
        ),
        (
            "local",
            (0.0, 0.82, 0.1),
            "local",
            "experiment",
            ["with local features", "as method.lesion_labeller says"],
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
def test_findings_and_sentence_say_who_labels_and_why(
    lesion_labeller: LesionLabeller, first: tuple[float, ...], used: str, decided_by: str, words: list[str]
) -> None:
    choice = after_first_pass(lesion_labeller, *first)
    figures = reported(choice)
    assert (figures["used"], figures["decided_by"]) == (used, decided_by)
    assert (figures["tag_auroc"], figures["localisation_gap"]) == pytest.approx(first[1:])
    for word in [*words, f"{first[1]:.2f}", f"{first[2]:+.3f}"]:
        assert word in choice.sentence()
    assert (str(ENOUGH_AUROC) in choice.sentence()) == (lesion_labeller == "auto")


@pytest.mark.parametrize("lesion_labeller", ["auto", "segmenter"])
def test_with_one_kind_of_tag_there_are_no_figures(lesion_labeller: LesionLabeller) -> None:
    choice = after_first_pass(lesion_labeller, 1.0, float("nan"), float("nan"))
    assert reported(choice)["tag_auroc"] is None and reported(choice)["localisation_gap"] is None
    assert "only one kind of tag" in choice.sentence() and "nan" not in choice.sentence()
