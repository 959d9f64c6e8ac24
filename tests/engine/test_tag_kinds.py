"""Tags of one kind, or none, are spoken of before training; both kinds are not."""

from pathlib import Path

import pytest

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.engine.tag_kinds import missing_tags


def data(source: list[int], target: list[int], classes: Classes | None = None) -> ExperimentData:
    def samples(tags: list[int]) -> list[Sample]:
        return [Sample(f"set/{n}", Path(f"{n}.png"), tag=tag) for n, tag in enumerate(tags)]

    chosen = classes or Classes()
    return ExperimentData(chosen, True, samples(source), [], samples(target), [], chosen)


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ([LESION, NORMAL], [LESION, NORMAL, UNKNOWN_TAG], []),
        ([LESION, NORMAL], [LESION, LESION, UNKNOWN_TAG], ["all 2 tagged target training images are lesion: robust"]),
        ([LESION, NORMAL], [NORMAL], ["all 1 tagged target training images are normal: robust"]),
        ([LESION, NORMAL], [UNKNOWN_TAG], ["no target training image is tagged: robust cannot learn"]),
        ([LESION], [UNKNOWN_TAG], ["no target training image is tagged", "all 1 tags are lesion: S1"]),
        ([LESION, LESION], [], ["all 2 tags are lesion: S1, the lesion/normal head, learns nothing"]),
        ([LESION, NORMAL], [], []),
    ],
)
def test_what_a_method_cannot_do_is_said(source: list[int], target: list[int], said: list[str]) -> None:
    found = missing_tags(data(source, target), "robust", asked=True)
    assert len(found) == len(said)
    assert all(sentence.startswith(begins) for sentence, begins in zip(found, said, strict=True))


def test_nobody_expects_tags_of_streets_or_where_they_are_not_wanted() -> None:
    assert missing_tags(data([LESION], [LESION], Classes(("road", "car", "sky"))), "robust", asked=True) == []
    assert missing_tags(data([LESION], [LESION]), "robust", asked=False) == []
