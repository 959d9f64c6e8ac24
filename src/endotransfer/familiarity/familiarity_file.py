"""familiarity.safetensors of a model folder and its section in config.json, read within limits and checked."""

import hashlib
from pathlib import Path
from typing import Annotated

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from safetensors import SafetensorError

from endotransfer.errors import CheckpointError, shortened
from endotransfer.familiarity.familiarity import Familiarity
from endotransfer.familiarity.gaussian import Gaussian
from endotransfer.familiarity.image_signs import SIGNS
from endotransfer.io import read_bounded

FILE = "familiarity.safetensors"
LARGEST = 64 * 2**20  # bytes
MOST_AXES, MOST_FEATURES = 1024, 16_384
Limit = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
SeenSide = Annotated[int, Field(ge=1, le=10_000)]


class FamiliarityInfo(BaseModel):
    """`familiarity` of config.json."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str = Field(pattern="^[0-9a-f]{64}$")  # of familiarity.safetensors
    images: int = Field(ge=1, le=10**9)  # that it was fitted to
    seen: tuple[SeenSide, SeenSide] | None  # at which the network sees images
    signs: list[str]  # what is told of a picture, in the order of the file
    signs_limit: Limit
    features_limit: Limit | None  # None: the network gives no features


def encode_familiarity(fitted: Familiarity) -> tuple[bytes, FamiliarityInfo]:
    """The file's content and its description."""
    tensors = {"signs.scale": np.asarray(fitted.scale, np.float32)} | _tensors("signs", fitted.signs)
    if fitted.features is not None:
        tensors |= _tensors("features", fitted.features)
    content = safetensors.numpy.save({name: np.ascontiguousarray(value) for name, value in tensors.items()})
    info = FamiliarityInfo(
        sha256=hashlib.sha256(content).hexdigest(),
        images=fitted.images,
        seen=fitted.seen,
        signs=list(SIGNS),
        signs_limit=fitted.signs_limit,
        features_limit=None if fitted.features is None else fitted.features_limit,
    )
    return content, info


def familiarity_bytes(folder: Path, info: FamiliarityInfo, fix: str) -> bytes:
    """The file beside config.json that `info` describes; CheckpointError with `fix` as its advice."""
    path = folder / FILE
    try:
        content = read_bounded(path, CheckpointError, fix, LARGEST)
    except FileNotFoundError:
        raise CheckpointError(f"there is no {path}; {fix}.") from None
    if hashlib.sha256(content).hexdigest() != info.sha256:
        raise CheckpointError(f"{path} is damaged (its checksum differs); {fix}.")
    return content


def read_familiarity(folder: Path, info: FamiliarityInfo, fix: str) -> Familiarity:
    """What `info` describes, read from that file."""
    path, content = folder / FILE, familiarity_bytes(folder, info, fix)
    try:
        return _decode(content, info)
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError, AttributeError) as reason:
        why = shortened(" ".join(str(reason).split()), 300)
        raise CheckpointError(f"{path} is damaged ({why}); {fix}.") from None


def _tensors(name: str, fitted: Gaussian) -> dict[str, NDArray[np.generic]]:
    """Single precision is plenty for a distance."""
    parts = {"mean": fitted.mean, "axes": fitted.axes, "variances": fitted.variances, "rest": np.array([fitted.rest])}
    return {f"{name}.{part}": np.asarray(value, np.float32) for part, value in parts.items()}


def _decode(content: bytes, info: FamiliarityInfo) -> Familiarity:
    tensors = safetensors.numpy.load(content)
    if tuple(info.signs) != SIGNS:
        raise ValueError("it tells other things of pictures than this version does")
    scale = _values(tensors, "signs.scale", (len(SIGNS),))
    if not (scale > 0).all():
        raise ValueError("'signs.scale' is not positive")
    features = None
    if info.features_limit is not None:
        features = _gaussian(tensors, "features", tensors["features.mean"].size)
    expected = 5 + 4 * (features is not None)
    if len(tensors) != expected:
        raise ValueError(f"it holds {len(tensors)} tensors instead of {expected}")
    return Familiarity(
        info.seen, scale, _gaussian(tensors, "signs", len(SIGNS)), info.signs_limit, features,
        info.features_limit or 1.0, info.images,
    )  # fmt: skip


def _gaussian(tensors: dict[str, NDArray[np.generic]], name: str, width: int) -> Gaussian:
    rank = tensors[f"{name}.variances"].size
    if not (0 < width <= MOST_FEATURES and 0 < rank <= min(MOST_AXES, width)):
        raise ValueError(f"'{name}' has {rank} directions of {width} values")
    mean, axes = _values(tensors, f"{name}.mean", (width,)), _values(tensors, f"{name}.axes", (rank, width))
    variances, rest = _values(tensors, f"{name}.variances", (rank,)), _values(tensors, f"{name}.rest", (1,))
    if not ((variances > 0).all() and rest[0] > 0):
        raise ValueError(f"a variance of '{name}' is not positive")
    return Gaussian(mean, axes, variances, float(rest[0]))


def _values(tensors: dict[str, NDArray[np.generic]], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    found = tensors[name]
    if found.dtype != np.float32:
        raise ValueError(f"'{name}' is of the kind {found.dtype}")
    if found.shape != shape:
        raise ValueError(f"'{name}' has the shape {list(found.shape)} instead of {list(shape)}")
    values = found.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"'{name}' holds values that are not finite")
    return values
