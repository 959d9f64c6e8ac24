"""The next images worth a person's time, out of the folder that is served."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from endotransfer.batch import NORMAL
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.listing import plain_name
from endotransfer.data.folders.review_record import in_force
from endotransfer.serve.answers import Refusal
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.learning.choose_batch import Candidate, Features, choose_batch
from endotransfer.serve.learning.image_features import image_features
from endotransfer.serve.learning.retrainable import Retrainable
from endotransfer.serve.pictures import read_shown
from endotransfer.serve.review_state import known_record
from endotransfer.serve.service import Service

POOL = 8  # of the most doubtful images, so many times the batch are looked at more closely
MOST_LABELLED = 200  # reviewed images that a new one is kept away from


@dataclass
class BatchChooser:
    """Keeps the features of the images it has seen, which a model computes once."""

    service: Service
    _features: dict[str, Features] = field(default_factory=dict)

    def choose(self, count: int, known: Retrainable | None) -> list[CatalogueEntry]:
        """Refused while the folder is still being predicted: whom the model doubts is not known before."""
        progress = self.service.survey.progress()
        if progress["done"] < progress["total"]:
            self.service.survey.start()
            raise Refusal(409, "not-predicted", f"{progress['done']} of {progress['total']} images are predicted so "
                          "far; ask again when all of them are.")  # fmt: skip
        entries = [*self.service.catalogue.entries.values()]
        reviewed = {entry.name for entry in entries if self._decided(entry)}
        free = [entry for entry in self._eligible(entries, known) if entry.name not in reviewed]
        pool = sorted(free, key=lambda entry: (-self._doubt(entry), entry.name))[: POOL * count]
        labelled = [entry for entry in entries if entry.name in reviewed and self._readable(entry)][-MOST_LABELLED:]
        names = choose_batch([*map(self._candidate, pool)], count, [*map(self._of, labelled)])
        by_name = self.service.catalogue.by_name()
        return [by_name[name] for name in names]

    def forget(self) -> None:
        """Another model has other features."""
        self._features.clear()

    def _eligible(self, entries: Iterable[CatalogueEntry], known: Retrainable | None) -> list[CatalogueEntry]:
        """What may be trained on: no test image, none drawn for measuring, none tagged normal, which says it all."""
        plan = read_plan(self.service.folder)
        drawn = {plain_name(name) for name in plan.images} if plan else set()
        return [
            entry for entry in entries
            if entry.sample.split in ("", "train") and plain_name(entry.name) not in drawn
            and entry.sample.tag != NORMAL and self._readable(entry)
            and (known is None or entry.sample.image.resolve() in known.trainable)
        ]  # fmt: skip

    def _decided(self, entry: CatalogueEntry) -> bool:
        return in_force(known_record(self.service.folder, entry.name).versions) is not None

    def _readable(self, entry: CatalogueEntry) -> bool:
        return entry.id in self.service.predictions.figures

    def _doubt(self, entry: CatalogueEntry) -> float:
        return self.service.predictions.figures[entry.id]["models"][0]["doubt"]

    def _candidate(self, entry: CatalogueEntry) -> Candidate:
        return Candidate(entry.name, self._doubt(entry), self._of(entry), entry.sample.group or entry.sample.key)

    def _of(self, entry: CatalogueEntry) -> Features:
        if entry.id not in self._features:
            predictor = self.service.models[0].predictor
            self._features[entry.id] = image_features(predictor, read_shown(entry.sample.image)[0])
        return self._features[entry.id]
