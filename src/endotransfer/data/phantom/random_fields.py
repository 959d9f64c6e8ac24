"""Random streams that depend on names alone, and smooth random fields whose shape does not depend on the image size."""

from functools import lru_cache, reduce
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Field = NDArray[np.float32]  # [H, W] or [H, W, 3], float32 throughout: half the memory traffic of float64

# A cubic B-spline over unit-variance lattice values has about this standard deviation along one axis.
_SPREAD = 0.69


def stream(*key: int | str) -> np.random.Generator:
    """The random generator of one named thing, e.g. `stream(seed, "capsule", "lesion", 17, "vessels")`.

    The key alone decides the numbers: neither the order of the images, nor how many there are, nor the process.
    """
    digest = blake2b("/".join(map(str, key)).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


@lru_cache(maxsize=256)
def _spline(cells: int, size: int) -> tuple[NDArray[np.intp], Field]:
    """Indices and cubic B-spline weights, both [4, size]: `cells` + 3 knots stretched over `size` pixel centres."""
    place = (np.arange(size) + 0.5) / size * cells
    knot = np.minimum(place.astype(np.intp), cells - 1)
    t = place - knot
    weights = np.stack([(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]) / 6
    return knot + np.arange(4)[:, None], weights.astype(np.float32)


def stretch(knots: Field, height: int, width: int) -> Field:
    """[h + 3, w + 3] lattice values -> [height, width] smooth field.  No BLAS, so that threads cannot change a bit."""
    rows, down = _spline(knots.shape[0] - 3, height)
    columns, across = _spline(knots.shape[1] - 3, width)
    tall: Field = reduce(np.add, [down[k][:, None] * knots[rows[k]] for k in range(4)])
    field: Field = reduce(np.add, [across[k] * tall[:, columns[k]] for k in range(4)])
    return field


def cloud(rng: np.random.Generator, cells: int, size: int) -> Field:
    """[size, size] smooth noise of about unit variance, with `cells` bumps from side to side."""
    knots = rng.standard_normal((cells + 3, cells + 3), dtype=np.float32)
    return stretch(knots, size, size) / _SPREAD**2


def clouds(rng: np.random.Generator, cells: int, size: int, octaves: int = 3) -> Field:
    """`cloud` summed over octaves: the number of bumps doubles, their height halves."""
    layers = [cloud(rng, cells << k, size) * np.float32(0.5**k) for k in range(octaves)]
    return sum(layers[1:], layers[0])


class Wrapping:
    """Smooth noise on the inner wall of a tube: periodic around it, free along it."""

    def __init__(self, rng: np.random.Generator, around: int, along: int, detail: int = 6) -> None:
        knots = rng.standard_normal((around, along + 3), dtype=np.float32)
        closed = np.concatenate([knots, knots[:3]])
        self._table = stretch(closed, around * detail, along * detail) / np.float32(_SPREAD**2)

    def at(self, turn: Field, along: Field) -> Field:
        """The noise at angle `turn` (1 is a whole turn) and position `along` in [0, 1], both [H, W]."""
        rows, columns = self._table.shape
        where = np.stack([turn * rows - 0.5, np.clip(along, 0, 1) * (columns - 1)])
        found: Field = ndimage.map_coordinates(self._table, where, order=1, mode="grid-wrap")
        return found


def smoothstep(low: float, high: float, x: Field) -> Field:
    """0 below `low`, 1 above `high`, a smooth rise between."""
    t = np.clip((x - np.float32(low)) * np.float32(1 / (high - low)), 0, 1)
    rise: Field = t * t * (3 - 2 * t)
    return rise


def blur(field: Field, sigma: float) -> Field:
    """Gaussian blur of [H, W] or [H, W, 3] over the first two axes; `sigma` in pixels."""
    sigmas = (sigma, sigma, 0)[: field.ndim]
    smooth: Field = ndimage.gaussian_filter(field, sigmas, mode="nearest", truncate=3)
    return smooth
