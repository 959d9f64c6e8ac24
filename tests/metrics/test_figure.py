"""What may be registered as a figure, in which order figures come, and what they are where they do not exist."""

import numpy as np
import pytest

from endotransfer.config.class_lists import CITYSCAPES16
from endotransfer.errors import ConfigError
from endotransfer.metrics import FIGURES, Figure, ScoredImages, Scores, figures, rates, register
from endotransfer.metrics.figure import Unit, in_unit, leading_first, legend

NOTHING = ScoredImages([], ["normal", "lesion"])


def test_a_figure_is_computed_in_one_way() -> None:
    with pytest.raises(TypeError, match="'a' needs either `statistic` or `compute`"):
        Figure(name="a", label="A")
    with pytest.raises(TypeError, match="needs either"):
        Figure(name="a", label="A", statistic=rates.miou, compute=lambda scores: 1.0)
    with pytest.raises(TypeError, match="'a': intervals, values by class and kinds of images need `statistic`"):
        Figure(name="a", label="A", compute=lambda scores: 1.0, interval=True)
    with pytest.raises(TypeError, match="'a': without lesions all images are of one kind"):
        Figure(name="a", label="A", statistic=rates.miou, images="normal")


def test_no_two_figures_share_a_name() -> None:
    with pytest.raises(ConfigError, match="two figures are called 'miou'"):
        register(Figure(name="miou", label="other", statistic=rates.miou))


def test_figures_come_in_the_order_of_the_file_and_means_first_where_asked() -> None:
    main = figures(shown=("main",))
    named = ["iou", "iou_normal", "iou_lesion", "iou_lesion_within", "normal_painted"]
    assert [figure.name for figure in main] == [*named, "miou"]
    assert [figure.name for figure in leading_first(main)] == ["miou", *named]


def test_some_means_exist_for_one_list_of_classes() -> None:
    street = [figure.name for figure in figures(CITYSCAPES16, shown=("main",))]
    assert "miou13" in street and "miou13" not in {figure.name for figure in figures(["normal", "lesion"])}
    assert legend([FIGURES.get("miou13")]).startswith("mIoU 13: the mean without wall, fence and pole")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.25, "%", 25.0), (np.float64("nan"), "%", None), (None, "%", None), (0.5, "number", 0.5),
        (np.int64(3), "count", 3), (float("nan"), "count", None), ("words", "text", "words"),
    ],
)  # fmt: skip
def test_values_are_in_their_unit(value: float | str | None, unit: Unit, shown: float | str | None) -> None:
    assert in_unit(value, unit) == shown


def test_a_section_and_a_key() -> None:
    figure = FIGURES.get("lesion_wise.sensitivity")
    assert (figure.section, figure.key) == ("lesion_wise", "sensitivity")
    assert (FIGURES.get("miou").section, FIGURES.get("miou").key) == ("", "miou")


def test_without_what_it_needs_a_figure_is_none() -> None:
    street = ScoredImages([], ["a", "b"], lesions=False)
    assert FIGURES.get("iou_lesion").value(street) is None
    assert FIGURES.get("tags.auroc").value(NOTHING) is None


def test_every_figure_exists_in_an_empty_evaluation() -> None:
    summary = Scores(["normal", "lesion"]).summary()
    assert {figure.section or figure.key for figure in figures(["normal", "lesion"])} == set(summary.figures)
