"""The confusion matrix of every test image of one run, small enough to be kept beside a table and carried with it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from endotransfer.errors import CheckpointError, DataError
from endotransfer.io import read_json, write_atomically
from endotransfer.metrics.bootstrap import percentiles, resampled_sums
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.figure import figures, leading_first
from endotransfer.metrics.image_scores import ImageScores, stack
from endotransfer.metrics.rates import Matrices, Statistic, of_class
from endotransfer.results import AGAIN, Results

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ImageCounts:
    """Images in order of their keys; those without a labelled pixel are left out."""

    classes: list[str]
    keys: list[str]
    groups: list[str]  # what a bootstrap draws
    matrices: Counts  # [N, K, K], rows truth
    lesions: bool = True  # class 0 is normal tissue; False: street scenes

    def write(self, path: Path) -> None:
        counts = self.matrices.reshape(len(self.keys), -1).tolist()
        held = {"classes": self.classes, "lesions": self.lesions, "keys": self.keys, "groups": self.groups}
        text = json.dumps({**held, "counts": counts})
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text, CheckpointError)


def read_counts(path: Path) -> ImageCounts | None:
    """What `write` wrote; None where there is nothing, or nothing whole."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        classes, keys, groups = (list(map(str, held[name])) for name in ("classes", "keys", "groups"))
        matrices = np.array(held["counts"], dtype=np.int64).reshape(len(keys), len(classes), len(classes))
        lesions = bool(held["lesions"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return ImageCounts(classes, keys, groups, matrices, lesions) if len(groups) == len(keys) else None


def counts_of_run(run: Path) -> ImageCounts:
    """From the scores.json and results.json of a finished run."""
    try:
        results = Results.read(run / "results.json")
        rows = read_json(run / "scores.json", DataError, AGAIN)
    except CheckpointError as reason:
        raise DataError(str(reason)) from None
    try:
        scored = [ImageScores.from_row(row) for row in rows] if isinstance(rows, list) else []
        images = [image for image in scored if image.matrix.any()]
        matrices = stack(images, len(results.classes))
    except ValueError:
        raise DataError(f"{run / 'scores.json'} is damaged; {AGAIN}.") from None
    lesions = results.figure("iou_lesion") is not None
    return ImageCounts(results.classes, [i.key for i in images], [i.resampled_with for i in images], matrices, lesions)


def statistics(counts: ImageCounts) -> dict[str, Statistic]:
    """The figures that systems are compared by, by name; the IoU of one class is `iou.NAME`."""
    known = [figure for figure in leading_first(figures(counts.classes)) if figure.compared]
    available = [figure for figure in known if counts.lesions or figure.needs != "lesions"]
    named = {figure.name: figure.statistic for figure in available if figure.statistic and not figure.by_class}
    for figure in available:
        if figure.statistic and figure.by_class:
            named |= {f"{figure.name}.{name}": of_class(figure.statistic, k) for k, name in enumerate(counts.classes)}
    return named


def check_same_images(a: ImageCounts, b: ImageCounts, what: Callable[[], str]) -> None:
    """Two runs can be paired only where both were measured on the same masks."""
    same = a.classes == b.classes and a.keys == b.keys and np.array_equal(a.matrices.sum(-1), b.matrices.sum(-1))
    if not same:
        raise DataError(f"{what()} were not measured on the same masks; evaluate both on the same images.")


def paired_differences(
    pairs: Sequence[tuple[ImageCounts, ImageCounts]], wanted: Mapping[str, Statistic], resamples: int, seed: int = 0
) -> dict[str, tuple[float, float, float]]:
    """(difference, low, high) of each: statistic(a) - statistic(b), averaged over `pairs` (one for each training seed).

    All systems and seeds see the same draws of patients, so what makes a patient easy or hard for all cancels.
    """
    both = [np.stack([a.matrices, b.matrices], axis=1) for a, b in pairs]  # [N, 2, K, K]
    # Drawing takes far longer than any statistic of what was drawn.
    drawn = [resampled_sums(one, a.groups, resamples, seed) for one, (a, _) in zip(both, pairs, strict=True)]

    def difference(statistic: Statistic, sums: Sequence[Matrices]) -> NDArray[np.float64]:
        found = [statistic(some[..., 0, :, :]) - statistic(some[..., 1, :, :]) for some in sums]
        mean: NDArray[np.float64] = np.mean(found, axis=0)
        return mean

    whole = [one.sum(0) for one in both]
    return {
        name: (float(difference(statistic, whole)), *percentiles(difference(statistic, drawn), LEVEL))
        for name, statistic in wanted.items()
    }
