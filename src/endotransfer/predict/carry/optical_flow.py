"""Where every pixel of one picture was in another, and what follows from it."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import map_coordinates

Flow = NDArray[np.float32]  # [2, h, w]: rows, columns
Grey = NDArray[np.float32]  # [h, w] in [0, 1]
RADIUS, WARPS = 7, 4  # of the window, and how often it is refined at each scale
OUTSIDE = -1e4  # a place in no picture


def flow_between(here: Grey, there: Grey) -> Flow:
    """Dense optical flow [2, h, w] (iterative Lucas-Kanade, coarse to fine): `here[x]` is at x + flow[x] in `there`."""
    from skimage.registration import optical_flow_ilk

    found: Flow = optical_flow_ilk(here, there, radius=RADIUS, num_warp=WARPS, dtype=np.float32)  # type: ignore[no-untyped-call]
    return found


def grid(height: int, width: int) -> Flow:
    """The place of every pixel itself."""
    return np.indices((height, width), dtype=np.float32)


def sample(values: NDArray[np.float32], places: Flow) -> NDArray[np.float32]:
    """values[places], bilinear; beyond the edge the nearest."""
    found: NDArray[np.float32] = map_coordinates(values, places, order=1, mode="nearest", output=np.float32)
    return found


def follow(places: Flow, flow: Flow) -> Flow:
    """Composed: places'[x] = places[x + flow[x]].

    `places` [2, h, w]: where each pixel of the frame before was in the first one; `flow`: where each pixel of this
    frame was in the frame before.  What came in over the edge was nowhere.
    """
    _, height, width = places.shape
    before = grid(height, width) + flow
    found = np.stack([sample(axis, before) for axis in places])
    limit = np.array([height - 0.5, width - 0.5], np.float32)[:, None, None]
    found[:, ((before < -0.5) | (before > limit)).any(0)] = OUTSIDE
    return found


def fetch(mask: NDArray[np.uint8], places: Flow) -> NDArray[np.uint8]:
    """`mask` [H, W] of the first frame as seen through `places` [2, h, w]: labels [H, W], 0 for what was nowhere."""
    height, width = mask.shape
    small = places.shape[1:]
    rows, columns = (_enlarged(axis, (height, width)) for axis in places)
    rows = (rows + 0.5) * (height / small[0]) - 0.5
    columns = (columns + 0.5) * (width / small[1]) - 0.5
    y, x = np.rint(rows).astype(int), np.rint(columns).astype(int)
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    return np.where(inside, mask[y.clip(0, height - 1), x.clip(0, width - 1)], np.uint8(0))


def _enlarged(values: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    if values.shape == size:
        return values
    return np.asarray(Image.fromarray(values).resize((size[1], size[0]), Image.Resampling.BILINEAR))
