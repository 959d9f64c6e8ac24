"""Who labels the images tagged lesion in a run: the segmenter alone, or the segmenter with local scores.

The first pass decides (`local_labeller.py`), unless the experiment does.  The decision is state: later passes and a
resumed run follow it.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from endotransfer.batch import NORMAL
from endotransfer.distributed import sum_over_processes
from endotransfer.errors import DataError
from endotransfer.pseudo_labels.local_labeller import ENOUGH_AUROC, LocalLabeller
from endotransfer.pseudo_labels.target_set import TargetSet

LesionLabeller = Literal["auto", "segmenter", "local", "dataset_threshold"]
UNKNOWN = -9.0  # no figure has this value: a checkpoint holds finite numbers only


class LabellerChoice(nn.Module):
    """`wanted`: what the experiment says; `auto`: whatever the first pass finds.  Saved with the weights."""

    segmenter_alone: Tensor  # 1: the segmenter labels alone; 0: with local scores
    tag_auroc: Tensor  # this and the next as the first pass found them
    localisation_gap: Tensor

    def __init__(self, wanted: LesionLabeller = "auto") -> None:
        super().__init__()
        self.wanted = wanted
        self._told: tuple[int, bool] | None = None  # a version of the decision, and what it says
        self.register_buffer("segmenter_alone", torch.tensor(float(wanted == "segmenter")))
        self.register_buffer("tag_auroc", torch.tensor(UNKNOWN))
        self.register_buffer("localisation_gap", torch.tensor(UNKNOWN))

    def check(self, target: TargetSet) -> None:
        """Refuse, before the first step, local labels where nothing tells how large a lesion is."""
        if self.wanted != "local":
            return
        tags = [batch.tags for batch in target.without_images() if batch.tags is not None]
        normal = sum(int((some == NORMAL).sum()) for some in tags)
        if sum_over_processes(torch.tensor(normal, device=self.segmenter_alone.device)) == 0:
            raise DataError(
                "method.lesion_labeller is local, but no target image is tagged normal, and nothing else tells how "
                "large a lesion is; tag some normal ones, or leave out method.lesion_labeller."
            )

    def before(self, number: int, *, misled: bool = False) -> Tensor | None:
        """The decision that pass `number` of the stage follows; None: it decides itself.

        `misled`: source lesions do not look like those of the target, and a segmenter that knows the source alone
        separates the target's tags by chance, if it does.
        """
        return None if number == 0 and self.wanted == "auto" and not misled else self.segmenter_alone

    def take(self, found: LocalLabeller, number: int) -> None:
        """Remember what pass `number` found.  Only before the first one does the segmenter know the source alone."""
        if number > 0:
            return
        self.segmenter_alone.copy_(found.segmenter_alone)
        self.tag_auroc.copy_(found.tag_auroc.nan_to_num(UNKNOWN))
        self.localisation_gap.copy_(found.localisation_gap.nan_to_num(UNKNOWN))

    def alone(self) -> bool:
        """Whether the segmenter labels alone.  A GPU is asked when the decision has changed, and not in every step."""
        version = self.segmenter_alone._version
        if self._told is None or self._told[0] != version:
            self._told = version, bool(self.segmenter_alone > 0)
        return self._told[1]

    def figures(self) -> dict[str, object]:
        """For results.json."""
        return {
            "used": "segmenter" if self.alone() else "local",
            "decided_by": "auto" if self.wanted == "auto" else "experiment",
            "tag_auroc": _known(self.tag_auroc),
            "localisation_gap": _known(self.localisation_gap),
        }

    def sentence(self, *, misled: bool = False) -> str:
        """For people: who labels, why, and how to change it; `misled` as the first pass knew it."""
        alone, auroc, gap = self.alone(), _known(self.tag_auroc), _known(self.localisation_gap)
        who = "by the segmenter alone" if alone else "with local features"
        if auroc is None or gap is None:
            seen = "target images carry only one kind of tag"
            missing = True
        else:
            seen, missing = f"tag AUROC {auroc:.2f}, localisation gap {gap:+.3f}", False
        if self.wanted != "auto":
            why = f"as method.lesion_labeller says ({seen})"
        elif missing:
            why = f"because {seen}, so there is nothing to decide by"
        elif misled:
            why = (
                "because source lesions do not look like those of the target, so that a segmenter that knows the "
                f"source alone is not believed ({seen}); method.lesion_labeller=segmenter overrides this"
            )
        else:
            told, other = ("separated", "local") if alone else ("did not separate", "segmenter")
            why = (
                f"because after the warm-up the segmenter {told} lesion from normal images by the right places "
                f"({seen}; {ENOUGH_AUROC} and more than 0 are required); method.lesion_labeller={other} overrides this"
            )
        return f"images tagged lesion are labelled {who}, {why}."


def _known(figure: Tensor) -> float | None:
    return None if (value := figure.item()) == UNKNOWN else value
