"""Whom a run believed about images tagged lesion, by which figures, and how its user is told.

The first pass judges (`evidence.py`).  What it found is state: later passes and a resumed run go by it.
"""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from endotransfer.batch import NORMAL
from endotransfer.distributed import sum_over_processes
from endotransfer.errors import ConfigError, DataError
from endotransfer.pseudo_labels.label_target_set import TargetSet
from endotransfer.pseudo_labels.local_labeller import BELIEVED, LocalLabeller

LesionLabeller = Literal["judge", "segmenter", "evidence"]
UNKNOWN = -9.0  # there is no such figure: a checkpoint holds finite numbers only


class LabellerChoice(nn.Module):
    """LruCache with the weights.  `lesion_labeller`: whom the experiment believes; `judge`: whoever the first pass finds."""

    trust: Tensor  # 1: the segmenter alone; 0: it needs local evidence
    tag_auroc: Tensor  # these two as the first pass found them
    localisation_gap: Tensor

    def __init__(self, lesion_labeller: LesionLabeller = "judge") -> None:
        super().__init__()
        self.lesion_labeller = lesion_labeller
        self.register_buffer("trust", torch.tensor(float(lesion_labeller == "segmenter")))
        self.register_buffer("tag_auroc", torch.tensor(UNKNOWN))
        self.register_buffer("localisation_gap", torch.tensor(UNKNOWN))

    def check(self, target: TargetSet) -> None:
        """Refuse, before the first step, to lesion_labeller local evidence where it cannot tell how large a lesion is."""
        if self.lesion_labeller != "evidence":
            return
        tags = [batch.tags for batch in target.without_images() if batch.tags is not None]
        normal = sum(int((some == NORMAL).sum()) for some in tags)
        if sum_over_processes(torch.tensor(normal, device=self.trust.device)) == 0:
            raise DataError(
                "method.lesion_labeller is evidence, but no target image is tagged normal, and nothing else tells how large a "
                "lesion is; tag some normal ones, or leave out method.lesion_labeller."
            )

    def before(self, number: int) -> Tensor | None:
        """What pass `number` of the stage has to go by; None: it judges."""
        return None if number == 0 and self.lesion_labeller == "judge" else self.trust

    def take(self, evidence: LocalLabeller, number: int) -> None:
        """What pass `number` found.  Only before the first one does the segmenter know the source alone."""
        if number > 0:
            return
        self.trust.copy_(evidence.believed)
        self.tag_auroc.copy_(evidence.tag_auroc.nan_to_num(UNKNOWN))
        self.localisation_gap.copy_(evidence.localisation_gap.nan_to_num(UNKNOWN))

    def findings(self) -> dict[str, Any]:
        """For results.json."""
        figures = {
            "believed": "segmenter" if self.trust > 0 else "evidence",
            "decided_by": "judge" if self.lesion_labeller == "judge" else "experiment",
            "tag_auroc": _known(self.tag_auroc),
            "localisation_gap": _known(self.localisation_gap),
        }
        return {"local_evidence": figures, "remarks": [self.sentence()]}

    def sentence(self) -> str:
        """For people: who labels, why, and how to have it otherwise."""
        alone, auroc, gap = bool(self.trust > 0), _known(self.tag_auroc), _known(self.localisation_gap)
        who = "by the segmenter alone" if alone else "with local evidence"
        missing = auroc is None or gap is None
        seen = "one kind of tag is missing" if missing else f"AUROC of the tags {auroc:.2f}, gap {gap:+.3f}"
        if self.lesion_labeller != "judge":
            why = f"as method.lesion_labeller says ({seen})"
        elif missing:
            why = f"since {seen} and nothing can be asked"
        else:
            told, other = ("told", "evidence") if alone else ("did not tell", "segmenter")
            why = (
                f"since after the warm-up the segmenter {told} lesion images from normal ones by the right places "
                f"({seen}; {BELIEVED} and more than 0 are asked); method.lesion_labeller={other} overrules this"
            )
        return f"images tagged lesion are labelled {who}, {why}."


def refuse_without_evidence(lesion_labeller: LesionLabeller) -> None:
    """Where there is no local evidence nobody is asked, and who wants it must hear so."""
    if lesion_labeller == "evidence":
        raise ConfigError(
            "method.lesion_labeller is evidence, but there is none here: it needs lesion_rule: evidence, pseudo-labels, tags "
            "and pretrained weights; see to these, or leave out method.lesion_labeller."
        )


def _known(figure: Tensor) -> float | None:
    return None if (value := figure.item()) == UNKNOWN else value
