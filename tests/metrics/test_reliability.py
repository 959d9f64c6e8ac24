"""Calibration figures against a literal reading of their definitions, and known answers."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from endotransfer.batch import IGNORE
from endotransfer.metrics.pixel_calibration import CalibrationSummary, PixelCalibration, levels_of
from endotransfer.metrics.reliability import (
    brier_score,
    calibration_error,
    outcome_counts,
    probability_levels,
    reliability_bins,
)

Floats = NDArray[np.float64]


def literal_error(probabilities: Floats, came_true: NDArray[np.bool_], lowest: float = 0.0) -> float:
    """ECE pixel by pixel, in bins of equal width, probabilities as they are."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for probability, true in zip(probabilities, came_true, strict=True):
        if probability >= lowest:
            bins.setdefault(min(int(probability * 20), 19), []).append((float(probability), bool(true)))
    total = sum(len(one) for one in bins.values())
    return sum(abs(sum(p for p, _ in one) - sum(t for _, t in one)) for one in bins.values()) / total


def counts_of(probabilities: Floats, came_true: NDArray[np.bool_]) -> NDArray[np.int64]:
    levels, true = torch.from_numpy(np.round(probabilities * 1000).astype(np.int16)), torch.from_numpy(came_true)
    return outcome_counts(levels, true, torch.ones_like(true))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lowest", [0.0, 0.1, 0.5])
def test_counts_in_thousandths_give_the_literal_figures(seed: int, lowest: float) -> None:
    draw = np.random.default_rng(seed)
    # Thousandths, so that both agree on each pixel's bin; halves are added so that edges occur.
    probabilities = np.append(np.round(draw.beta(0.5, 0.8, 3000), 3), [0.0, 0.1, 0.5, 1.0])
    came_true = draw.random(3004) < probabilities**2
    counts = counts_of(probabilities, came_true)
    assert calibration_error(counts, lowest) == pytest.approx(literal_error(probabilities, came_true, lowest), abs=1e-9)
    assert brier_score(counts) == pytest.approx(float(np.mean((probabilities - came_true) ** 2)), abs=1e-9)


def test_rounding_to_thousandths_hardly_matters() -> None:
    draw = np.random.default_rng(7)
    probabilities = draw.random(4000)
    came_true = draw.random(4000) < probabilities**2
    counts = counts_of(probabilities, came_true)
    assert calibration_error(counts) == pytest.approx(literal_error(probabilities, came_true), abs=2e-3)


def test_a_forecast_that_keeps_its_word_has_no_error_and_one_that_does_not_has_the_gap() -> None:
    came_true = np.arange(1000) % 10 < 7
    assert calibration_error(counts_of(np.full(1000, 0.7), came_true)) == pytest.approx(0)
    assert calibration_error(counts_of(np.full(1000, 0.95), came_true)) == pytest.approx(0.25)
    assert reliability_bins(counts_of(np.full(1000, 0.95), came_true)) == [(0.95, 1.0, 1000, 0.95, 0.7)]


def test_nothing_counted_is_no_figure() -> None:
    nothing = np.zeros((2, 1001), np.int64)
    assert math.isnan(calibration_error(nothing)) and math.isnan(brier_score(nothing))
    assert PixelCalibration(lesions=True).summary() is None


def test_what_is_no_probability_stops_no_evaluation() -> None:
    levels = probability_levels(torch.tensor([float("nan"), -1e-7, 0.4999, 1 + 1e-6]))
    assert levels.tolist() == [0, 0, 500, 1000]
    no = torch.zeros(4, dtype=torch.bool)
    assert outcome_counts(levels, no, ~no).sum() == 4


def image(seed: int, classes: int = 3, size: tuple[int, int] = (9, 11)) -> tuple[torch.Tensor, NDArray[np.uint8]]:
    """Probabilities [K, H, W] and a truth with unlabelled pixels."""
    draw = torch.Generator().manual_seed(seed)
    truth = torch.randint(0, classes, size, generator=draw).numpy().astype(np.uint8)
    truth[0] = IGNORE
    return (2 * torch.randn(classes, *size, generator=draw)).softmax(0), truth


def measured(seeds: list[int], *, lesions: bool = True) -> CalibrationSummary:
    whole = PixelCalibration(lesions)
    for seed in seeds:
        probabilities, truth = image(seed)
        best, mask = probabilities[None].max(1)
        levels = levels_of(probabilities[None], best)
        whole.add(PixelCalibration.count(levels, mask.byte(), torch.from_numpy(truth)[None]))
    found = whole.summary()
    assert found is not None
    return found


def test_unlabelled_pixels_do_not_count_and_images_add_up_in_any_order() -> None:
    assert measured([0, 1]).pixels == 2 * 8 * 11
    assert measured([0, 1, 2]) == measured([2, 0, 1])


def test_the_figures_of_images_are_those_of_their_pixels() -> None:
    found = measured([0, 1, 2, 3])
    lesion, true, best, right = [], [], [], []
    for seed in range(4):
        probabilities, truth = image(seed)
        for row, column in zip(*np.nonzero(truth != IGNORE), strict=True):
            pixel = probabilities[:, row, column].numpy().round(3)
            lesion.append(round(1 - float(probabilities[0, row, column]), 3))
            true.append(truth[row, column] != 0)
            best.append(float(pixel.max()))
            right.append(int(pixel.argmax()) == truth[row, column])
    assert found.ece == pytest.approx(100 * literal_error(np.array(best), np.array(right)), abs=1e-3)
    assert found.ece_lesion == pytest.approx(100 * literal_error(np.array(lesion), np.array(true), 0.1), abs=1e-3)
    said = np.array(lesion) >= 0.5
    assert found.lesion_precision == pytest.approx(100 * np.array(true)[said].mean(), abs=1e-6)
    assert found.lesion_probability == pytest.approx(100 * np.array(lesion)[said].mean(), abs=0.05)


def test_without_normal_tissue_only_the_predicted_class_is_judged() -> None:
    found = measured([0], lesions=False)
    assert found.ece is not None and found.ece_lesion is None and found.lesion_precision is None
    assert sum(one.pixels for one in found.bins) == found.pixels
