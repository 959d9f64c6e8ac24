"""An image as a graph of super-pixels: what each looks like, and which of them touch."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import uniform_filter
from skimage.color import rgb2lab

from endotransfer.config import SuperpixelConfig
from endotransfer.data.pipeline.superpixels import Regions, compute_superpixels
from endotransfer.predict.prediction import Pixels

SIDE = 320  # of the copy whose super-pixels are computed
SETTINGS = SuperpixelConfig(segments_at_512=1900)
COLOUR = np.array([1.0, 1.0, 1.0])  # weights of L, a, b
FEATURES, FEATURE_SCALE = 6, 8.0  # principal components of the model's features, and their deviation beside Lab's
SCORE_SCALE = 20.0  # a probability of 1 against 0 is as far as this many steps of Lab
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Hint:
    """What a trained model says of the image: probability [H, W] of a lesion, and features [C, h, w]."""

    score: NDArray[np.float32]
    features: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class RegionGraph:
    """N super-pixels of a small copy of an image, and E pairs of neighbours."""

    regions: Regions  # [h, w]
    looks: Matrix  # [N, D]: mean colour, and what a model says
    places: Matrix  # [N, 2]: x and y, in units of the side of a square of the image's area
    score: Matrix | None  # [N]: mean probability of a lesion
    pairs: NDArray[np.int64]  # [E, 2]
    borders: Matrix  # [E]: length of the common border, 1 on average


def region_graph(pixels: Pixels, hint: Hint | None = None) -> RegionGraph:
    """The graph of an image uint8 [H, W, 3]."""
    small = _resized(pixels, SIDE)
    regions = compute_superpixels(small, SETTINGS)
    colours = rgb2lab(uniform_filter(small, (3, 3, 1))) * COLOUR
    score = None if hint is None else region_means(_at(hint.score, regions.shape)[..., None], regions)
    looks = [region_means(colours, regions)]
    if score is not None:
        looks.append(SCORE_SCALE * score)
    if hint is not None and hint.features is not None:
        looks.append(_components(hint.features, regions))
    rows, columns = np.indices(regions.shape)
    places = region_means(np.stack([columns, rows], axis=-1) / np.sqrt(regions.size), regions)
    pairs, borders = neighbours(regions)
    return RegionGraph(regions, np.concatenate(looks, axis=1), places, None if score is None else score[:, 0],
                       pairs, borders)  # fmt: skip


def region_means(values: NDArray[np.floating], regions: Regions) -> Matrix:
    """Mean over each super-pixel of values [h, w, D]: [N, D]."""
    flat = regions.ravel()
    sums = [np.bincount(flat, values[..., k].ravel()) for k in range(values.shape[2])]
    return np.stack(sums, axis=1) / np.bincount(flat)[:, None]


def neighbours(regions: Regions) -> tuple[NDArray[np.int64], Matrix]:
    """Pairs of touching super-pixels [E, 2], the smaller number first, and the lengths of their common borders."""
    one = np.concatenate([regions[:, 1:].ravel(), regions[1:].ravel()])
    other = np.concatenate([regions[:, :-1].ravel(), regions[:-1].ravel()])
    touching = np.stack([np.minimum(one, other), np.maximum(one, other)], axis=1)[one != other].astype(np.int64)
    pairs, lengths = np.unique(touching, axis=0, return_counts=True)
    return pairs, lengths / max(1.0, float(lengths.mean()) if len(lengths) else 1.0)


def _components(features: NDArray[np.float32], regions: Regions) -> Matrix:
    """The features' principal components over the image, averaged over super-pixels: [N, FEATURES]."""
    channels, height, width = features.shape
    flat = features.reshape(channels, -1).astype(np.float64)
    flat -= flat.mean(1, keepdims=True)
    _, vectors = np.linalg.eigh(flat @ flat.T)
    best = (vectors[:, -FEATURES:].T @ flat).reshape(-1, height, width)
    best /= max(float(np.sqrt((best**2).sum(0).mean())), 1e-12)
    maps = np.stack([_at(one.astype(np.float32), regions.shape) for one in best], axis=-1)
    return FEATURE_SCALE * region_means(maps, regions)


def _resized(pixels: Pixels, side: int) -> Pixels:
    scale = min(1.0, side / max(pixels.shape[:2]))
    size = tuple(max(1, round(length * scale)) for length in pixels.shape[1::-1])
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BOX))


def _at(values: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float32]:
    return np.asarray(Image.fromarray(values).resize((shape[1], shape[0]), Image.Resampling.BILINEAR))
