"""Tags of one kind, or none, are spoken of before training; both kinds are not."""

import csv
import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.engine.run import train
from endotransfer.engine.tag_kinds import missing_tags
from endotransfer.testing.fixtures import MakeExperiment


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


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (("lesion", "normal"), ""),
        (("normal",), "tagged target training images are normal: lta cannot learn"),
        ((), "caution: no target training image is tagged: lta cannot learn"),
    ],
)
def test_training_says_it_first(
    make_experiment: MakeExperiment, tasks: dict[str, Path], tmp_path: Path, kept: tuple[str, ...], said: str
) -> None:
    folder = shutil.copytree(tasks["tagged"], tmp_path / "study")
    table = folder / "capsule" / "labels.csv"
    with table.open(newline="") as file:
        rows = [row | {"label": row["label"] if row["label"] in kept else ""} for row in csv.DictReader(file)]
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    text = io.StringIO()
    experiment = make_experiment("tagged", "lta", data=folder, epochs=1, steps_per_epoch=1)
    train(experiment, tmp_path / "run", console=Console(file=text))
    assert ("caution:" in text.getvalue()) == bool(said)
    assert said in text.getvalue().partition("epoch 1")[0]
