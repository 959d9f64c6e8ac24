"""The confusion matrix of every test image of one run, small enough to be kept beside a table and carried with it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from endotransfer.errors import CheckpointError, DataError
from endotransfer.io import read_json, read_json_object, write_atomically
from endotransfer.metrics.counts import Counts
from endotransfer.metrics.group_kinds import GroupKinds, count_kinds
from endotransfer.metrics.image_scores import ImageScores, stack
from endotransfer.results import AGAIN, Results

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ImageCounts:
    """Images in order of their keys; those without a labelled pixel are left out."""

    classes: list[str]
    keys: list[str]
    groups: list[str]  # what a bootstrap draws as one: patients, sequences, clusters, or single images
    matrices: Counts  # [N, K, K], rows truth
    lesions: bool = True  # class 0 is normal tissue; False: street scenes

    @cached_property
    def group_kinds(self) -> GroupKinds:
        return count_kinds(zip(self.keys, self.groups, strict=True))

    def write(self, path: Path) -> None:
        counts = self.matrices.reshape(len(self.keys), -1).tolist()
        held = {"classes": self.classes, "lesions": self.lesions, "keys": self.keys, "groups": self.groups}
        text = json.dumps({**held, "counts": counts})
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text, CheckpointError)


def read_counts(path: Path) -> ImageCounts | None:
    """What `write` wrote; None where there is nothing, or nothing whole."""
    try:
        held = read_json_object(path, DataError)
        classes, keys, groups = (list(map(str, held[name])) for name in ("classes", "keys", "groups"))  # type: ignore[arg-type]
        matrices = np.array(held["counts"], dtype=np.int64).reshape(len(keys), len(classes), len(classes))
        lesions = bool(held["lesions"])
    except (DataError, ValueError, TypeError, KeyError, OverflowError):
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
        sides = (len(results.classes), len(results.classes))
        if any(image.matrix.shape != sides or (image.matrix < 0).any() for image in images):
            raise ValueError("a matrix of other classes")
        matrices = stack(images, len(results.classes))
    except (ValueError, TypeError, OverflowError):
        raise DataError(f"{run / 'scores.json'} is damaged; {AGAIN}.") from None
    lesions = results.figure("iou_lesion") is not None
    return ImageCounts(results.classes, [i.key for i in images], [i.resampled_with for i in images], matrices, lesions)


def check_same_images(a: ImageCounts, b: ImageCounts, what: Callable[[], str]) -> None:
    """Two runs can be paired only where both were measured on the same masks, in the same groups."""
    same = a.classes == b.classes and a.keys == b.keys and np.array_equal(a.matrices.sum(-1), b.matrices.sum(-1))
    if not same:
        raise DataError(f"{what()} were not measured on the same masks; evaluate both on the same images.")
    if a.groups != b.groups:
        raise DataError(f"{what()} tie the same images into other groups; evaluate both with one labels.csv.")
