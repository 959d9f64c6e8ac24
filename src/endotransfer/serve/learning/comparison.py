"""Before and after a retraining: the table, and the images that changed most."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from endotransfer.compare.image_counts import ImageCounts, counts_of_run
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.listing import plain_name
from endotransfer.data.folders.review_record import in_force
from endotransfer.data.folders.reviewed import read_version_mask
from endotransfer.errors import EndotransferError
from endotransfer.metrics import Scores, lesion_iou
from endotransfer.predict.overlay import overlay
from endotransfer.predict.predictor import Predictor, load
from endotransfer.results import Results
from endotransfer.serve.answers import refuse_unknown
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.learning.before_after import (
    BeforeAfter,
    compare_on_readings,
    compare_on_tags,
    compare_on_test,
)
from endotransfer.serve.pictures import as_png, read_shown, resize_labels
from endotransfer.serve.predictions import Labels, disagreement
from endotransfer.serve.review_state import known_record
from endotransfer.serve.service import Service

SHOWN = 6  # images
LOOKED_AT = 60  # images whose masks are compared where no test mask says which have changed


@dataclass(frozen=True)
class ChangedImage:
    entry: CatalogueEntry
    before: float | None  # IoU of lesions; None where nothing was measured
    after: float | None
    change: float


@dataclass
class RunComparison:
    """`before` and `after`: finished runs.  A model that is not served is opened once."""

    service: Service
    before: Path
    after: Path
    _models: dict[Path, Predictor] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        changed = [
            {"id": one.entry.id, "name": one.entry.name, "before": one.before, "after": one.after,
             "truth": self.service.predictions.truths and one.entry.sample.mask is not None}
            for one in self.changed()
        ]  # fmt: skip
        return {**asdict(self.table()), "changed": changed}

    def table(self) -> BeforeAfter:
        """On test masks; else on masks that were drawn blind; else on tags."""
        found = compare_on_test(self.before, self.after) or self._on_readings()
        return found or compare_on_tags(*(_tags(run) for run in (self.before, self.after)))

    def changed(self) -> list[ChangedImage]:
        """The most changed first: by IoU where test masks know it, else by how far the two masks differ.

        None that is drawn for measuring: who has seen a model's mask cannot read it blind any more.
        """
        by_key = {entry.sample.key: entry for entry in self._shown()}
        measured = [one for one in _changes(self.before, self.after) if one[0] in by_key]
        if measured:
            found = [ChangedImage(by_key[key], old, new, abs(new - old)) for key, old, new in measured]
        else:
            found = [ChangedImage(entry, None, None, self._differing(entry)) for entry in self._others()]
        return sorted((one for one in found if one.change > 0), key=lambda one: (-one.change, one.entry.name))[:SHOWN]

    def picture(self, image: str, side: str) -> bytes:
        """The image with the mask of the old model, the new one, or the truth drawn on it, as PNG."""
        entry = self.service.catalogue.find(image)
        pixels = read_shown(entry.sample.image)[0]
        mask = self.service.predictions.truth(entry) if side == "truth" else self._labels(entry, self._run(side))
        if mask is None:
            raise refuse_unknown("mask")
        return as_png(overlay(pixels, mask))

    def _run(self, side: str) -> Path:
        if side not in ("before", "after"):
            raise refuse_unknown("side")
        return self.before if side == "before" else self.after

    def _labels(self, entry: CatalogueEntry, run: Path) -> Labels:
        for place, model in enumerate(self.service.models):
            if model.run.resolve() == run.resolve():
                return self.service.predictions.labels(entry, place)
        if run not in self._models:
            self._models[run] = load(run)
        return self._models[run].predict(read_shown(entry.sample.image)[0]).mask

    def _differing(self, entry: CatalogueEntry) -> float:
        return disagreement(self._labels(entry, self.before), self._labels(entry, self.after))

    def _shown(self) -> list[CatalogueEntry]:
        plan = read_plan(self.service.folder)
        drawn = {plain_name(name) for name in plan.images} if plan else set()
        return [entry for entry in self.service.catalogue.entries.values() if plain_name(entry.name) not in drawn]

    def _others(self) -> list[CatalogueEntry]:
        """Some of the images that nobody reviewed, spread over the folder."""
        folder = self.service.folder
        free = [entry for entry in self._shown()
                if entry.id in self.service.predictions.figures
                and in_force(known_record(folder, entry.name).versions) is None]  # fmt: skip
        return free[:: max(1, -(-len(free) // LOOKED_AT))]

    def _on_readings(self) -> BeforeAfter | None:
        folder, names = self.service.folder, self.service.predictions.names
        plan, known = read_plan(folder), self.service.catalogue.by_name()
        scores = [Scores(names), Scores(names)]
        for name in map(plain_name, plan.images if plan else []):
            version = in_force(known_record(folder, name).versions) if name in known else None
            if version is None or not version.blind or version.decision != "corrected":
                continue
            truth, sample = read_version_mask(folder, name, version, len(names)), known[name].sample
            for one, run in zip(scores, (self.before, self.after), strict=True):
                labels = self._labels(known[name], run)
                one.update(labels, resize_labels(truth, labels.shape), key=sample.key, group=sample.group)
        if not scores[0].images():
            return None
        return compare_on_readings(scores, [_results(run).seed for run in (self.before, self.after)])


def _changes(before: Path, after: Path) -> list[tuple[str, float, float]]:
    """Key, IoU of lesions before and after, of each test image of both that has or is given a lesion."""
    try:
        old, new = (_lesion_ious(counts_of_run(run)) for run in (before, after))
    except EndotransferError:
        return []
    return [(key, old[key], new[key]) for key in old.keys() & new.keys()]


def _lesion_ious(counts: ImageCounts) -> dict[str, float]:
    values = lesion_iou(counts.matrices)
    return {key: float(value) for key, value in zip(counts.keys, values, strict=True) if not np.isnan(value)}


def _results(run: Path) -> Results:
    return Results.read(run / "results.json")


def _tags(run: Path) -> dict[str, object]:
    return dict(_results(run).tag_evidence or {})
