"""Clicks without a promptable network: regions grow from them over super-pixels, by a random walk.

Random walker segmentation with priors (Grady 2005).  For every super-pixel i, x_i is the chance that a walker who
starts there meets the lesion before the rest:

    (L + g diag(u + v)) x = g u,     x = 1 under positive clicks, 0 under negative ones and outside a box

L: Laplacian of the graph, whose edges are weak where neighbours look different; u_i, v_i: likeness to a positive and to
a negative click, in looks and place; where a model says how probable a lesion is, both are weighed by that.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import binary_fill_holes, label
from scipy.sparse import coo_matrix, diags_array
from scipy.sparse.linalg import spsolve

from endotransfer.predict.prediction import Pixels
from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.prompted_image import Area, PromptedImage
from endotransfer.predict.prompts.region_graph import Hint, Matrix, RegionGraph, region_graph

CONTRAST = 0.05  # edges fall with exp(-CONTRAST d^2)
PRIOR = 0.05  # g: what looks and place say of a super-pixel by itself
LIKE, NEAR = 14.0, 0.18  # how far likeness reaches: in looks, and in places
ELSEWHERE = 0.35  # v where no negative click is near
HARD = 1e4
TRUST = 0.25  # exponent of the model's probability


class GrownImage(PromptedImage):
    """Answers come from super-pixels, in some milliseconds."""

    def __init__(self, pixels: Pixels, hint: Hint | None = None) -> None:
        self._size = pixels.shape[:2]
        self._graph = region_graph(pixels, hint)

    def segment(self, prompt: Prompt) -> Area:
        positive = self._seeds(prompt, positive=True)
        negative = np.setdiff1d(self._seeds(prompt, positive=False), positive)
        chosen = grow(self._graph, positive, negative) > 0.5
        area = _joined(chosen[self._graph.regions], np.isin(self._graph.regions, positive))
        area &= ~np.isin(self._graph.regions, negative)  # a hole that was clicked stays one
        height, width = self._size
        return np.asarray(Image.fromarray(area).resize((width, height), Image.Resampling.NEAREST))

    def _seeds(self, prompt: Prompt, *, positive: bool) -> NDArray[np.int64]:
        """Super-pixels under clicks.  A box: nothing outside it, and its centre where no click says more."""
        points = [point for point in prompt.points if point.positive == positive]
        found = np.array([self._graph.regions[self._place(point)] for point in points], np.int64)
        if prompt.box is None or (positive and len(points)):
            return np.unique(found)
        left, top, right, bottom = prompt.box
        if positive:
            return np.array([self._graph.regions[self._place(Point((left + right) / 2, (top + bottom) / 2))]], np.int64)
        scale = np.array(self._size[::-1]) / np.sqrt(self._size[0] * self._size[1])
        x, y = (self._graph.places / scale * np.array(self._size[::-1])).T
        outside = (x < left) | (x > right) | (y < top) | (y > bottom)
        return np.union1d(found, np.flatnonzero(outside))

    def _place(self, point: Point) -> tuple[int, int]:
        """Row and column of the small copy."""
        rows, columns = self._graph.regions.shape
        row, column = (point.y + 0.5) / self._size[0] * rows, (point.x + 0.5) / self._size[1] * columns
        return min(max(int(row), 0), rows - 1), min(max(int(column), 0), columns - 1)


def grow(graph: RegionGraph, positive: NDArray[np.int64], negative: NDArray[np.int64]) -> Matrix:
    """x [N] of the equation above."""
    count = len(graph.looks)
    for_lesion = _likeness(graph, positive)
    against = np.maximum(ELSEWHERE, _likeness(graph, negative))
    if graph.score is not None:
        odds = np.clip(graph.score, 0.02, 0.98)
        for_lesion, against = 2 * for_lesion * odds**TRUST, 2 * against * (1 - odds) ** TRUST
    one, other = graph.pairs.T
    alike = np.exp(-CONTRAST * ((graph.looks[one] - graph.looks[other]) ** 2).sum(1)) + 1e-4
    edges = coo_matrix((graph.borders * alike, (one, other)), shape=(count, count))
    edges = (edges + edges.T).tocsr()
    fixed = np.zeros(count)
    fixed[np.union1d(positive, negative)] = HARD
    wanted = np.zeros(count)
    wanted[positive] = HARD
    strength = np.asarray(edges.sum(1)).ravel() + PRIOR * (for_lesion + against) + fixed
    solved: Matrix = np.atleast_1d(spsolve((diags_array(strength) - edges).tocsc(), PRIOR * for_lesion + wanted))
    return solved


def _likeness(graph: RegionGraph, seeds: NDArray[np.int64]) -> Matrix:
    """[N]: 1 for a seed, falling with the difference in looks and the distance to the most alike of them."""
    best = np.zeros(len(graph.looks))
    for seed in seeds:
        looks = ((graph.looks - graph.looks[seed]) ** 2).sum(1) / LIKE**2
        places = ((graph.places - graph.places[seed]) ** 2).sum(1) / (2 * NEAR**2)
        best = np.maximum(best, np.exp(-looks - places))
    return best


def _joined(area: Area, seeds: Area) -> Area:
    """The parts of an area in which there is a seed, their holes filled."""
    parts, _ = label(area)
    kept: Area = np.isin(parts, np.setdiff1d(np.unique(parts[seeds & area]), 0))
    filled: Area = binary_fill_holes(kept)
    return filled
