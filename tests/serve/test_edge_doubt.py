"""Doubt is how soft the edges of a lesion are, not how large it is; images that disagree alike are ranked further."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from endotransfer.batch import Sample
from endotransfer.serve.edge_doubt import BAND, PEAK, edge_doubt
from endotransfer.serve.image_catalogue import CatalogueEntry, in_order


def disc(radius: float, softness: float) -> NDArray[np.float32]:
    y, x = np.mgrid[:100, :100] - 49.5
    score: NDArray[np.float32] = (1 / (1 + np.exp((np.hypot(x, y) - radius) / softness))).astype(np.float32)
    return score


def literally(score: NDArray[np.float32]) -> float:
    """The same, pixel by pixel."""
    marked, reach = score > 0.5, max(1, round(BAND * min(score.shape)))
    unsure = 1 - abs(2 * score - 1)
    if not marked.any():
        return float(np.sort(unsure.ravel())[-max(1, round(PEAK * score.size)) :].mean())
    found = []
    for y, x in np.ndindex(score.shape):
        around = marked[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1]
        if around.any() and not around.all():
            found.append(unsure[y, x])
    return float(np.mean(found)) if found else 0.0


@pytest.mark.parametrize("score", [disc(20, 1), disc(35, 4), disc(-40, 9), np.ones((20, 30), np.float32)])
def test_it_is_what_its_definition_says(score: NDArray[np.float32]) -> None:
    assert edge_doubt(score) == pytest.approx(literally(score), abs=1e-5)


def test_soft_edges_are_doubtful_whatever_the_area() -> None:
    assert edge_doubt(disc(30, 4)) > 2 * edge_doubt(disc(30, 0.3))
    assert edge_doubt(disc(12, 1)) == pytest.approx(edge_doubt(disc(36, 1)), abs=0.05)
    assert edge_doubt(disc(10, 4)) > edge_doubt(disc(40, 1))  # a small soft lesion before a large sharp one


def test_nearly_marked_is_more_doubtful_than_clearly_normal() -> None:
    nothing, nearly = np.full((50, 50), 0.01, np.float32), np.full((50, 50), 0.01, np.float32)
    nearly[10:14, 10:14] = 0.45
    assert edge_doubt(nearly) > 0.5 > edge_doubt(nothing)


def test_images_that_disagree_wholly_are_ranked_by_how_much_differs() -> None:
    entries = [CatalogueEntry(name, name, Sample(f"f/{name}", Path(name))) for name in "abcd"]
    values = {"a": (1.0, 0.01), "b": (1.0, 0.3), "c": (0.4, 0.9), "d": (1.0, 0.1)}
    figures = {name: {"disagreement": one, "differing": two} for name, (one, two) in values.items()}
    assert [entry.name for entry in in_order(entries, "disagreement", figures)] == ["b", "d", "a", "c"]  # type: ignore[arg-type]
