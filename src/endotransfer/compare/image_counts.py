"""The confusion matrix of every test image of one run, small enough to be kept beside a table and carried with it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from endotransfer.config.class_lists import further_means
from endotransfer.errors import CheckpointError, DataError
from endotransfer.io import write_atomically
from endotransfer.metrics import rates
from endotransfer.metrics.bootstrap import percentiles, resampled_sums
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.image_scores import ImageScores, stack
from endotransfer.metrics.rates import Matrices, Statistic

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
    results = _read(run / "results.json", run)
    rows = _read(run / "scores.json", run)
    try:
        images = [image for image in map(ImageScores.from_row, rows) if image.matrix.any()]
        classes = list(results["classes"])
        matrices = stack(images, len(classes))
    except (TypeError, KeyError, ValueError):
        raise DataError(f"{run / 'scores.json'} is damaged; measure the run again with `train --resume`.") from None
    lesions = results.get("iou_lesion") is not None
    return ImageCounts(classes, [i.key for i in images], [i.resampled_with for i in images], matrices, lesions)


def _read(path: Path, run: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{run} has no {path.name}; name the folder of a finished run.") from None
    except (OSError, ValueError):
        raise DataError(f"{path} is damaged; measure the run again with `train --resume`.") from None


def statistics(counts: ImageCounts) -> dict[str, Statistic]:
    """The figures of a table by name; the IoU of one class is `iou.NAME`."""
    named: dict[str, Statistic] = {"miou": rates.miou}
    named |= {name: rates.miou_of(some) for name, some in further_means(counts.classes).items()}
    if counts.lesions:
        named |= {"iou_normal": rates.normal_iou, "iou_lesion": rates.lesion_iou, "dice_lesion": rates.lesion_dice}
    return named | {f"iou.{name}": rates.iou_of(index) for index, name in enumerate(counts.classes)}


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
        return np.mean([statistic(some[..., 0, :, :]) - statistic(some[..., 1, :, :]) for some in sums], axis=0)

    whole = [one.sum(0) for one in both]
    return {
        name: (float(difference(statistic, whole)), *percentiles(difference(statistic, drawn), LEVEL))
        for name, statistic in wanted.items()
    }
