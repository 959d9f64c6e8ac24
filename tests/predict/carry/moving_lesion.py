"""A lesion that moves over a textured wall, with its truth."""

from collections.abc import Callable

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

from endotransfer.predict.prediction import Pixels

Path2D = Callable[[int], tuple[float, float]]


def texture(seed: int, size: int = 600) -> np.ndarray:
    draw = np.random.default_rng(seed)
    fine, broad = (gaussian_filter(draw.standard_normal((size, size)), s) for s in (3, 14))
    value = fine / fine.std() + broad / broad.std()
    scaled: np.ndarray = (value - value.min()) / (value.max() - value.min())
    return scaled


def wall(seed: int = 0) -> np.ndarray:
    """RGB in [0, 1], reddish, larger than a frame."""
    value = texture(seed)
    return np.stack([0.55 + 0.3 * value, 0.25 + 0.3 * value, 0.2 + 0.25 * value], -1)


def paint_lesion(scene: np.ndarray, row: float, column: float, radius: float) -> np.ndarray:
    """A paler, uneven ellipse drawn into the wall; returns its mask."""
    y, x = np.mgrid[: scene.shape[0], : scene.shape[1]]
    angle = np.arctan2(y - row, x - column)
    edge = radius * (1 + 0.15 * np.cos(3 * angle))
    inside = np.hypot((y - row) * 1.2, x - column) < edge
    own = texture(5, scene.shape[0])[..., None] * np.array([0.2, 0.35, 0.3])
    scene[inside] = (np.array([0.75, 0.62, 0.5]) * 0.8 + own)[inside]
    found: np.ndarray = inside
    return found


def frames_of(scene: np.ndarray, way: Path2D, count: int, size: tuple[int, int]) -> list[Pixels]:
    """A camera that looks at `way(i)`, its upper left corner, with a little noise of its own."""
    draw = np.random.default_rng(1)
    found = []
    for index in range(count):
        top, left = way(index)
        seen = window(scene, top, left, size) + draw.normal(0, 0.01, (*size, 3))
        found.append((seen.clip(0, 1) * 255).round().astype(np.uint8))
    return found


def window(scene: np.ndarray, top: float, left: float, size: tuple[int, int], order: int = 1) -> np.ndarray:
    y, x = np.mgrid[: size[0], : size[1]]
    layers = scene if scene.ndim == 3 else scene[..., None].astype(float)
    seen = [map_coordinates(layers[..., k], [y + top, x + left], order=order) for k in range(layers.shape[-1])]
    return np.stack(seen, -1) if scene.ndim == 3 else seen[0]


def iou(one: np.ndarray, other: np.ndarray) -> float:
    a, b = one > 0, other > 0
    return float((a & b).sum() / max(1, (a | b).sum()))
