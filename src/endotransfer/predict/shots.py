"""Pictures on their way through prediction, whether they came from files of their own or from a video."""

from collections.abc import Iterable, Iterator

from endotransfer.data.read.image_limits import MAX_PIXELS
from endotransfer.data.read.shot import Shot as Shot
from endotransfer.predict.image_predictor import ImagePredictor
from endotransfer.predict.prediction import Marks

Marked = tuple[Shot, Marks | None]


def infer(shots: Iterable[Shot], predictor: ImagePredictor, batch: int) -> Iterator[Marked]:
    """Every shot in its order with what the model marks in it; None where there is no picture."""
    for group in _groups(shots, batch):
        pictures = [shot.pixels for shot in group if shot.pixels is not None]
        marks = iter(predictor.mark_batch(pictures) if pictures else [])
        yield from ((shot, None if shot.pixels is None else next(marks)) for shot in group)


def _groups(shots: Iterable[Shot], batch: int) -> Iterator[list[Shot]]:
    """Up to `batch` at a time, and no more pixels than one image of the largest size has."""
    group: list[Shot] = []
    pixels = 0
    for shot in shots:
        size = 0 if shot.pixels is None else shot.pixels.shape[0] * shot.pixels.shape[1]
        if group and (len(group) == batch or pixels + size > MAX_PIXELS):
            yield group
            group, pixels = [], 0
        group.append(shot)
        pixels += size
    if group:
        yield group
