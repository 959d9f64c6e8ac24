"""Two models on what can be measured: the figures of both, the paired difference, and what may be concluded from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.compare.compared_figures import compared_figures
from endotransfer.compare.decision import conclusion
from endotransfer.compare.drawn_figures import draw_figures
from endotransfer.compare.image_counts import ImageCounts, counts_of_run
from endotransfer.compare.paired import compare_runs
from endotransfer.compare.seed_pairs import SeedPairs, SeedRun
from endotransfer.errors import EndotransferError
from endotransfer.metrics import Scores
from endotransfer.metrics.percent import percent
from endotransfer.metrics.summary import Ends
from endotransfer.results import Results
from endotransfer.serve.learning.sentences import without_paths

RESAMPLES = 1000
SIDES = ("the new model", "the old model")
TAGS = {
    "auroc_area": "Tags told by marked area (AUROC)",
    "normal_images_with_lesion_pixel": "Normal images with a marked pixel",
    "lesion_images_with_lesion_pixel": "Lesion images with a marked pixel",
}
NO_MASKS = "There are no masks to measure against: tags say whether there is a lesion, not where it ends. No winner."


@dataclass(frozen=True)
class FigureChange:
    """One line of the table, in per cent."""

    name: str
    title: str
    before: float | None
    after: float | None
    difference: float | None = None  # new less old
    interval: Ends | None = None  # 95 %, paired


@dataclass(frozen=True)
class BeforeAfter:
    """`basis`: what was measured on."""

    basis: str
    images: int
    rows: list[FigureChange]
    conclusion: str
    notes: list[str] = field(default_factory=list)


def compare_on_test(before: Path, after: Path) -> BeforeAfter | None:
    """On the masks of the test images of both runs; None where they have none in common."""
    try:
        counts = [counts_of_run(run) for run in (before, after)]
        notes = compare_runs([after], [before], resamples=0).notes if len(counts[0].keys) else []
    except EndotransferError:
        return None
    if not counts[0].keys:
        return None
    seeds = [Results.read(run / "results.json").seed for run in (before, after)]
    return compare_counts(counts, seeds, "masks of test images", [without_paths(note) for note in notes])


def compare_on_readings(scores: Sequence[Scores], seeds: Sequence[int]) -> BeforeAfter:
    """On masks that were drawn blind, `scores` of the old model and of the new one."""
    counts = [
        ImageCounts(one.classes, [image.key for image in one.images()], one.groups(), one.matrices()) for one in scores
    ]
    return compare_counts(counts, seeds, "masks drawn blind", [])


def compare_counts(
    counts: Sequence[ImageCounts], seeds: Sequence[int], basis: str, notes: Sequence[str]
) -> BeforeAfter:
    """Old and new on the same images; the interval draws patients where they are known, else images."""
    drawn = [draw_figures(one, RESAMPLES) for one in counts]
    old, new = (SeedRun(seed, {}, one) for seed, one in zip(seeds, drawn, strict=True))
    pair, known = SeedPairs([(new, old)], "the runs"), compared_figures(counts[0].classes, counts[0].lesions)
    rows = []
    for name, figure in known.items():
        if figure.place is not None and len(counts[0].classes) == 2:
            continue  # said by the figures of normal and lesion already
        found, (left, right) = pair.estimate(name), (percent(one.values[name]) for one in drawn)
        title = figure.figure.heading + ("" if figure.place is None else f": {counts[0].classes[figure.place]}")
        rows.append(FigureChange(name, title, left, right, found.mean, found.interval))
    first = rows[0]
    said = conclusion(SIDES, first.difference, first.interval, pair.basis)
    return BeforeAfter(basis, len(counts[0].keys), rows, f"{first.title}: {said[:1].lower()}{said[1:]}", [*notes])


def compare_on_tags(before: Mapping[str, object], after: Mapping[str, object]) -> BeforeAfter:
    """All that is left where nobody drew a mask."""
    rows = [
        FigureChange(name, title, _number(before.get(name)), _number(after.get(name))) for name, title in TAGS.items()
    ]
    images = after.get("images")
    return BeforeAfter("image tags", images if isinstance(images, int) else 0, rows, NO_MASKS)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
