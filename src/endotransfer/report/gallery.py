"""Predictions beside the truth: the best, median and worst test images of a system, and what others say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic asks for it before Python 3.12

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.read.checked_mask import read_checked_mask
from endotransfer.data.read.read_image import read_image
from endotransfer.errors import DataError, EndotransferError
from endotransfer.io import read_json
from endotransfer.metrics import rates
from endotransfer.predict.predictor import Predictor, load
from endotransfer.report.csv_file import write_csv
from endotransfer.report.page import Section, fill, missing
from endotransfer.report.run_images import RunImages
from endotransfer.report.study import Run, Study
from endotransfer.report.tiles import IMAGE, Tile, TileRow, painted, shrink, write_sheet

SYSTEMS = 5  # with image and truth, a row of seven
EACH = 2  # images of each kind


class ScoredRow(TypedDict):
    """What is needed here of a row of scores.json."""

    key: str
    matrix: list[list[int]]
    lesions: object


_ROWS = TypeAdapter(list[ScoredRow])


@dataclass(frozen=True)
class Score:
    iou: float  # per cent
    wrong: int  # pixels


@dataclass(frozen=True)
class Choice:
    kind: str  # best, median, worst
    key: str
    iou: float


def gallery_section(study: Study, images: RunImages, folder: Path) -> Section:
    leader = study.leading()
    if leader is None:
        body = missing("No run folder with figures lies here, so there are no predictions to show.")
        return Section("predictions", "Predictions", body)
    runs = [*_beside(study, leader), leader]
    scores = {run.label: found for run in runs if (found := read_scores(run)) is not None}
    if leader.label not in scores:
        raise DataError(f"{leader.path} has no scores.json with measured images; train or measure the run again.")
    choices = choose(scores[leader.label])
    rows, notes = _rows(study, leader, choices, scores, images)
    write_sheet(folder / "predictions.png", rows)
    table = [(c.kind, c.key, label, _iou(found, c.key)) for c in choices for label, found in scores.items()]
    write_csv(folder / "predictions.csv", ("kind", "image", "system", "iou"), table)
    introduction = (
        f"Test images by the IoU of {leader.label} (seed {leader.seed}): its best, its median and its worst; where "
        "the IoU is the same, the one with more wrong pixels is worse. "
        "Tinted: what is predicted, or drawn under truth; the white line repeats the truth. The number is "
        "the image's IoU of the lesion in per cent (without lesions the mean over classes)."
    )
    body = fill("predictions.html", introduction=introduction, rows=rows, notes=notes)
    return Section("predictions", "Predictions", body)


def _beside(study: Study, leader: Run) -> list[Run]:
    """A run of each other system that is shown: not a second one of the leader's, whose figures these are not."""
    return [run for run in study.shown(SYSTEMS) if run.label != leader.label]


def read_scores(run: Run) -> dict[str, Score] | None:
    """By image: IoU of the lesion, or the mean over classes; an image that has neither is left out."""
    try:
        rows = _ROWS.validate_python(read_json(run.path / "scores.json", DataError))
        matrices = np.array([row["matrix"] for row in rows], dtype=np.int64)
        lesions = any(row["lesions"] is not None for row in rows)
        ious = 100 * (rates.lesion_iou(matrices) if lesions else rates.miou(matrices))
        wrong = matrices.sum((1, 2)) - np.trace(matrices, axis1=1, axis2=2)
        scored = zip(rows, ious, wrong, strict=True)
        found = {str(row["key"]): Score(float(iou), int(bad)) for row, iou, bad in scored if np.isfinite(iou)}
    except (DataError, ValueError, KeyError, TypeError, IndexError, OverflowError):
        return None
    return found or None


def choose(scores: Mapping[str, Score], each: int = EACH) -> list[Choice]:
    """`each` images of the best, the median and the worst, no image twice.

    Of all that were missed the worst are those with the most wrong pixels: a speck on a normal image is 0 % too.
    """
    order = sorted(scores, key=lambda key: (-scores[key].iou, scores[key].wrong, key))
    each = min(each, max(1, len(order) // 3))
    middle = (len(order) - each) // 2
    spans = {"best": order[:each], "median": order[middle : middle + each], "worst": order[::-1][:each]}
    seen: set[str] = set()
    choices = []
    for kind, keys in spans.items():
        choices += [Choice(kind, key, scores[key].iou) for key in keys if key not in seen]
        seen |= set(keys)
    return choices


def _iou(scores: Mapping[str, Score], key: str) -> float | None:
    return scores[key].iou if key in scores else None


def _rows(
    study: Study, leader: Run, choices: Sequence[Choice], scores: dict[str, dict[str, Score]], images: RunImages
) -> tuple[list[TileRow], list[str]]:
    data = images.of(leader)
    samples = {sample.key: sample for sample in data.test}
    lost = [choice.key for choice in choices if choice.key not in samples]
    if lost:
        raise DataError(f"the test image {lost[0]} of {leader.path} is not among its test folders any more.")
    predictors, notes = _load([leader, *_beside(study, leader)])
    rows = []
    for choice in choices:
        sample = samples[choice.key]
        ious = {label: _iou(of_system, choice.key) for label, of_system in scores.items()}
        tiles = _tiles(sample, images, data.test_classes, predictors, ious)
        note = " · ".join(filter(None, (choice.key, sample.finding)))
        rows.append(TileRow(choice.kind.capitalize(), note, tiles))
    return rows, notes


def _load(runs: Sequence[Run]) -> tuple[dict[str, Predictor], list[str]]:
    """The models that are there, and a sentence for each that is not."""
    predictors, notes = {}, []
    for run in runs:
        try:
            predictors[run.label] = load(run.path)
        except EndotransferError as reason:
            notes.append(f"{run.label} is not shown: {reason}")
    return predictors, notes


def _tiles(
    sample: Sample,
    images: RunImages,
    classes: Classes,
    predictors: dict[str, Predictor],
    ious: dict[str, float | None],
) -> list[Tile]:
    pixels, shown = read_image(sample.image), images.shown(sample)
    truth = read_checked_mask(sample, pixels.shape[:2], classes, keep_contradictions=True).mask
    tiles = [Tile(shrink(shown), IMAGE)] if images.photographs else []
    tiles.append(Tile(painted(shown, truth), "truth"))
    for label, predictor in predictors.items():
        iou = ious.get(label)
        picture = painted(shown, predictor.predict(pixels).mask, truth)
        tiles.append(Tile(picture, label, "–" if iou is None else f"{iou:.1f}"))
    return tiles
