"""Patients are kept together under whatever name their column has; where none is known, that is said."""

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from endotransfer.data.folders.group_columns import group_columns
from endotransfer.data.folders.read_folder import read_contents, read_folder
from endotransfer.data.folders.split import split_folder
from endotransfer.data.inspect import inspect_folder
from endotransfer.errors import DataError

MakeFolder = Callable[..., Path]
NAMES = [f"i{number:02}" for number in range(24)]
USUAL = [
    "patient", "Patient", "patient_id", "PatientID", "Patient-Nr.", "Patienten_ID", "PATIENTENNUMMER", "pid", "Pat_ID",
    "case", "case_id", "Fall", "Fall-Nr", "Fallnummer", "subject", "Subject ID", "study", "StudyID", "Proband",
    "Untersuchung",
]  # fmt: skip


def table(column: str) -> str:
    rows = [f"{name},{'lesion' if n % 2 else 'normal'},P{n // 2:02}" for n, name in enumerate(NAMES)]
    return "\n".join([f"image,label,{column}", *rows])


def sides(folder: Path, column: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in read_contents(folder).entries:
        found.setdefault(entry.cell(column), set()).add(entry.cell("split"))
    return found


@pytest.mark.parametrize("column", USUAL)
def test_no_patient_stands_on_both_sides(make_folder: MakeFolder, column: str) -> None:
    folder = make_folder(images=NAMES, labels=table(column))
    said: list[str] = []
    split_folder(folder, say=said.append)
    parts = sides(folder, column)
    assert len(parts) == 12 and all(len(part) == 1 for part in parts.values())
    assert said == ([] if column == "patient" else [f"the column '{column}' is read as the patient"])
    assert read_folder(folder).samples[0].group == "set/patient P00"


def test_an_inspection_sees_the_patients_and_their_leaks(make_folder: MakeFolder) -> None:
    rows = [f"{name},P{n // 2:02},{('train', 'test')[n % 2]}" for n, name in enumerate(NAMES)]
    inspection = inspect_folder(make_folder(images=NAMES, labels="\n".join(["image,patient_id,split", *rows])))
    assert inspection.fingerprint["patients"] == 12
    assert sum(fault.code == "group-across-splits" for fault in inspection.errors) == 12


def test_where_no_patient_is_known_it_is_said(make_folder: MakeFolder) -> None:
    folder = make_folder(images=NAMES, labels=table("ward"))
    said: list[str] = []
    split_folder(folder, say=said.append)
    sentence = "no patient is known: images of one patient may stand on both sides"
    assert [line.startswith(sentence) for line in said] == [True]
    assert any(note.what.startswith(sentence) for note in inspect_folder(folder).cautions)
    assert not any("no patient" in note.what for note in inspect_folder(folder, group="ward").cautions)


def test_images_without_a_patient_are_counted(make_folder: MakeFolder) -> None:
    folder = make_folder(images=["a", "b", "c"], labels="image,patient\na,P1\nb,P2\nc,\n")
    assert any("no patient is known of 1 of 3 images" in note.what for note in inspect_folder(folder).cautions)


def test_a_column_can_be_named(make_folder: MakeFolder) -> None:
    folder = make_folder(images=NAMES, labels=table("ward"))
    split_folder(folder, group="ward")
    assert all(len(part) == 1 for part in sides(folder, "ward").values())
    assert read_folder(folder).samples[0].group == "set/patient P00"  # so that intervals resample it as one
    with pytest.raises(DataError, match=r"has no column 'room'; name one of its columns \(image, label, ward"):
        split_folder(folder, group="room", force=True)


def test_a_named_column_ties_images_beside_the_patient_and_replaces_nothing(make_folder: MakeFolder) -> None:
    labels = "image,patient,ward\n" + "\n".join(f"{name},P{n:02},W{n // 4}" for n, name in enumerate(NAMES))
    folder = make_folder(images=NAMES, labels=labels)
    split_folder(folder, group="ward")
    assert all(len(part) == 1 for part in sides(folder, "ward").values())
    assert [entry.cell("patient") for entry in read_contents(folder).entries] == [f"P{n:02}" for n in range(24)]


@pytest.mark.parametrize("column", ["patient", "case_id", "ward"])
def test_spellings_of_a_patient_are_one_patient(make_folder: MakeFolder, column: str) -> None:
    spellings = ("Pät {}", " pät  {}", unicodedata.normalize("NFD", "PÄT {}"))
    rows = [f"{name},{spellings[n % 3].format(n // 3)}" for n, name in enumerate(NAMES)]
    folder = make_folder(images=NAMES, labels="\n".join([f"image,{column}", *rows]))
    group, said = ("ward" if column == "ward" else None), list[str]()
    split_folder(folder, group=group, say=said.append)
    parts = sides(folder, "patient")
    assert len(parts) == 8 and all(len(part) == 1 for part in parts.values())
    assert any("differ in capitals or spaces alone are read as one" in line for line in said) == (column != "ward")
    assert inspect_folder(folder, group=group).fingerprint["patients"] == 8


def test_the_widest_filled_column_wins() -> None:
    rows = [{"study": "s1", "case": "c1", "patient_id": ""}, {"study": "s2", "case": "c2", "patient_id": ""}]
    assert group_columns(["study", "case", "patient_id"], rows) == {"patient": "case"}
    assert group_columns(["study"], [{"study": "POLYPS"}, {"study": "POLYPS"}]) == {}  # of the whole project
    assert group_columns(["Video"], [{"Video": "1"}, {"Video": "2"}]) == {"sequence": "Video"}
