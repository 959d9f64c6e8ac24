"""Which images a person should draw next: those whose lesion edges the model doubts, no two alike, one a patient."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Candidate:
    """An image that may be chosen."""

    name: str
    doubt: float  # of its lesion edges, 0 to 1
    features: Features  # [C]
    group: str  # its patient, sequence or cluster; an image by itself has a group of its own


def choose_batch(candidates: Sequence[Candidate], count: int, labelled: Sequence[Features] = ()) -> list[str]:
    """At most `count` names, in the order of choice; no two of one group.

    Greedy k-centre, weighted by doubt: again and again the image with the largest

        doubt * (distance of its features to the nearest image that is chosen or `labelled`)

    is taken; the first by doubt alone where nothing is labelled.  Features are standardised over all images.
    """
    if not candidates:
        return []
    points = _standardised(np.stack([*(one.features for one in candidates), *labelled]).astype(np.float64))
    ours, centres = points[: len(candidates)], points[len(candidates) :]
    doubt = np.array([one.doubt for one in candidates])
    groups = np.array([one.group for one in candidates])
    nearest = np.full(len(ours), np.inf)
    for centre in centres:
        nearest = np.minimum(nearest, np.linalg.norm(ours - centre, axis=1))
    free, chosen = np.ones(len(ours), bool), list[str]()
    while free.any() and len(chosen) < count:
        worth = doubt * nearest if np.isfinite(nearest).all() else doubt
        best = int(np.where(free, worth, -np.inf).argmax())
        chosen.append(candidates[best].name)
        free &= groups != groups[best]
        nearest = np.minimum(nearest, np.linalg.norm(ours - ours[best], axis=1))
    return chosen


def _standardised(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean 0 and deviation 1 in each dimension; one that never varies stays 0."""
    spread = points.std(0)
    scaled: NDArray[np.float64] = (points - points.mean(0)) / np.where(spread > 0, spread, 1)
    return scaled
