"""All that an evaluation counts, image by image, and the same from several processes."""

import json
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
import torch

from endotransfer.batch import UNKNOWN_TAG
from endotransfer.distributed import gather_texts
from endotransfer.engine.inferred_group import CountedGroup, InferredGroup
from endotransfer.engine.tag_agreement import TagAgreement
from endotransfer.metrics import Scores
from endotransfer.metrics.pixel_calibration import PixelCalibration
from endotransfer.metrics.pranet import PraNetScores


@dataclass(frozen=True)
class Measurements:
    """All that is counted.  `protocol`: the figures of the PraNet protocol, on request."""

    scores: Scores
    agreement: TagAgreement
    calibration: PixelCalibration
    protocol: PraNetScores | None

    def add(self, group: InferredGroup, counted: CountedGroup) -> None:
        """Take in what the threads counted, image by image: some of it depends on the order."""
        if counted.calibration is not None:
            self.calibration.add(counted.calibration)
        for index, image in enumerate(group.images):
            sample = image.sample
            if image.truth is not None and self.protocol is not None and group.probabilities is not None:
                lesion = group.probabilities[index, 1:].sum(0).cpu().numpy()
                self.protocol.update(lesion, image.truth, sample.key)
            if self.scores.lesions and sample.tag != UNKNOWN_TAG:
                student = counted.students[index] if counted.students is not None else None
                self.agreement.add(
                    sample.tag, counted.peaks[index], counted.masks[index], counted.chances[index], student
                )

    def score(self, group: InferredGroup, counted: Future[CountedGroup], index: int) -> None:
        """Score one image of a group.  In a thread, after the one that counts the group."""
        image, found = group.images[index], counted.result()
        if image.truth is not None and found.matrices is not None:
            sample = image.sample
            self.scores.update(
                found.masks[index], image.truth, key=sample.key, group=sample.group, finding=sample.finding,
                tag=sample.tag, lesion_probability=found.chances[index], matrix=found.matrices[index],
            )  # fmt: skip


def gathered(measured: Measurements, device: torch.device) -> Measurements:
    """The measurements of all processes, the same in each."""
    empty = measured.scores
    counts = measured.calibration.counts.tolist()
    own = json.dumps({"rows": empty.rows(), "agreement": vars(measured.agreement), "calibration": counts})
    scores, agreement = Scores(empty.classes, empty.lesions), TagAgreement()
    calibration = PixelCalibration(empty.lesions)
    for part in map(json.loads, gather_texts(own, device)):
        scores.merge(Scores.from_rows(empty.classes, part["rows"], empty.lesions))
        agreement.merge(part["agreement"])
        calibration.add(np.array(part["calibration"], np.int64))
    return Measurements(scores, agreement, calibration, measured.protocol)
