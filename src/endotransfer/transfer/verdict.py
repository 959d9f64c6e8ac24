"""Whom a run believed about images tagged lesion, by which figures, and how its user is told.

The first pass judges (`evidence.py`).  What it found is state: later passes and a resumed run go by it.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from endotransfer.batch import NORMAL
from endotransfer.errors import ConfigError, DataError
from endotransfer.reduce import sum_over_processes
from endotransfer.transfer.evidence import BELIEVED, Evidence
from endotransfer.transfer.labelling import TargetSet

Believe = Literal["judge", "segmenter", "evidence"]
UNKNOWN = -9.0  # there is no such figure: a checkpoint holds finite numbers only


class Verdict(nn.Module):
    """Kept with the weights.  `believe`: whom the experiment believes; `judge`: whoever the first pass finds."""

    trust: Tensor  # 1: the segmenter alone; 0: it needs local evidence
    tag_auroc: Tensor  # these two as the first pass found them
    witness_gap: Tensor

    def __init__(self, believe: Believe = "judge") -> None:
        super().__init__()
        self.believe = believe
        self.register_buffer("trust", torch.tensor(float(believe == "segmenter")))
        self.register_buffer("tag_auroc", torch.tensor(UNKNOWN))
        self.register_buffer("witness_gap", torch.tensor(UNKNOWN))

    def check(self, target: TargetSet) -> None:
        """Refuse, before the first step, to believe local evidence where it cannot tell how large a lesion is."""
        if self.believe != "evidence":
            return
        tags = [batch.tags for batch in target.without_images() if batch.tags is not None]
        normal = sum(int((some == NORMAL).sum()) for some in tags)
        if sum_over_processes(torch.tensor(normal, device=self.trust.device)) == 0:
            raise DataError(
                "method.believe is evidence, but no target image is tagged normal, and nothing else tells how large a "
                "lesion is; tag some normal ones, or leave out method.believe."
            )

    def before(self, number: int) -> Tensor | None:
        """What pass `number` of the stage has to go by; None: it judges."""
        return None if number == 0 and self.believe == "judge" else self.trust

    def take(self, evidence: Evidence, number: int) -> None:
        """What pass `number` found.  Only before the first one does the segmenter know the source alone."""
        if number > 0:
            return
        self.trust.copy_(evidence.believed)
        self.tag_auroc.copy_(evidence.tag_auroc.nan_to_num(UNKNOWN))
        self.witness_gap.copy_(evidence.witness_gap.nan_to_num(UNKNOWN))

    def findings(self) -> dict[str, Any]:
        """For results.json."""
        figures = {
            "believed": "segmenter" if self.trust > 0 else "evidence",
            "decided_by": "judge" if self.believe == "judge" else "experiment",
            "tag_auroc": _known(self.tag_auroc),
            "witness_gap": _known(self.witness_gap),
        }
        return {"local_evidence": figures, "remarks": [self.sentence()]}

    def sentence(self) -> str:
        """For people: who labels, why, and how to have it otherwise."""
        alone, auroc, gap = bool(self.trust > 0), _known(self.tag_auroc), _known(self.witness_gap)
        who = "by the segmenter alone" if alone else "with local evidence"
        missing = auroc is None or gap is None
        seen = "one kind of tag is missing" if missing else f"AUROC of the tags {auroc:.2f}, gap {gap:+.3f}"
        if self.believe != "judge":
            why = f"as method.believe says ({seen})"
        elif missing:
            why = f"since {seen} and nothing can be asked"
        else:
            told, other = ("told", "evidence") if alone else ("did not tell", "segmenter")
            why = (
                f"since after the warm-up the segmenter {told} lesion images from normal ones by the right places "
                f"({seen}; {BELIEVED} and more than 0 are asked); method.believe={other} overrules this"
            )
        return f"images tagged lesion are labelled {who}, {why}."


def refuse_without_evidence(believe: Believe) -> None:
    """Where there is no local evidence nobody is asked, and who wants it must hear so."""
    if believe == "evidence":
        raise ConfigError(
            "method.believe is evidence, but there is none here: it needs lesion_rule: evidence, pseudo-labels, tags "
            "and pretrained weights; see to these, or leave out method.believe."
        )


def _known(figure: Tensor) -> float | None:
    return None if (value := figure.item()) == UNKNOWN else value
