"""What a method cannot do with tags of one kind, or with none: said before hours of training."""

from collections.abc import Sequence

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, Sample
from endotransfer.engine.experiment_data import ExperimentData

_NAMES = {LESION: "lesion", NORMAL: "normal"}


def missing_tags(data: ExperimentData, method: str, *, asked: bool) -> list[str]:
    """Sentences for the user.  `asked`: whether the experiment wants tags used; with more than two classes nobody
    expects them."""
    if not asked or not data.classes.binary:
        return []
    found = [_of_target(data.target, method)] if data.target else []
    if not data.target or not _kinds(data.target):
        found.append(_of_one_kind([*data.masked, *data.tagged, *data.target]))
    return [sentence for sentence in found if sentence]


def _of_target(target: Sequence[Sample], method: str) -> str | None:
    kinds = _kinds(target)
    if not kinds:
        return (
            f"no target training image is tagged: {method} cannot learn there which images show a lesion, and is left "
            "with what the source teaches; fill the column `label` of the target's labels.csv"
        )
    if len(kinds) > 1:
        return None
    kind, other = _kind_and_other(kinds)
    risk = "everything" if kind == "lesion" else "nothing"
    return (
        f"all {_tagged(target)} tagged target training images are {kind}: {method} cannot learn there to tell "
        f"lesion from normal images, and may mark {risk}; tag some {other} images"
    )


def _of_one_kind(training: Sequence[Sample]) -> str | None:
    kinds = _kinds(training)
    if len(kinds) != 1:
        return None
    kind, other = _kind_and_other(kinds)
    return (
        f"all {_tagged(training)} tags are {kind}: S1, the lesion/normal head, learns nothing; tag some {other} images"
    )


def _kinds(samples: Sequence[Sample]) -> set[int]:
    return {sample.tag for sample in samples} - {UNKNOWN_TAG}


def _tagged(samples: Sequence[Sample]) -> int:
    return sum(sample.tag != UNKNOWN_TAG for sample in samples)


def _kind_and_other(kinds: set[int]) -> tuple[str, str]:
    (kind,) = kinds
    return _NAMES[kind], _NAMES[LESION if kind == NORMAL else NORMAL]
