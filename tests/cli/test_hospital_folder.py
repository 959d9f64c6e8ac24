"""From a hospital's folder to imported and split data in two commands: nothing silently wrong, nothing lost unsaid."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.data.inspect import inspect_folder
from tests.cli.hospital import build

LEFT_OUT = {  # what must be named, and a piece of its reason
    "Masken/Patient_05/Foto_als_Maske.png": "looks like a photograph",
    "Masken/Patient_05/Verkehrt.png": "looks inverted",
    "Bilder/Patient_05/Andere_Groesse.png": "the mask is 64x40 pixels but the image is 64x48",
    "Bilder/Patient_05/Widerspruch.png": "calls it normal but its mask says lesion",
    "Masken/Patient_05/ohne_Bild.png": "no image was found for this mask",
    "Bilder/Patient_06/kaputt.jpg": "cannot be decoded",
    "Bilder/Patient_06/Bericht.pdf": "files in .pdf are not read",
    "Bilder/Patient_06/ohne_Zeile.png": "has no line in Befunde.csv",
    "Befunde.csv, line 29": "names 'fehlt.png', and there is no such file",
    "Befunde.csv, line 30": "names 'IMG_07_9.png', and there is no such file",
}
GUESSED = (
    "read as Windows-1252", "separated by semicolons", "column 'Dateiname' was taken for the image",
    "column 'Befund' was taken for the label", "column 'Patient_ID' was taken for the patient",
    "called like their image with '_mask'", "no tag could be made of the words 'fraglich' (1)",
)  # fmt: skip


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the first command said, and the folder that it wrote and the second divided."""
    root = tmp_path_factory.mktemp("clinic")
    table, out = build(root / "Studie"), root / "native"
    said = _say("import", "table", table, out, "--lesion", "Polyp")
    _say("split", out)
    return said, out


def _say(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["data", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("file", LEFT_OUT)
def test_every_fault_is_named_and_put_into_quarantine(imported: tuple[str, Path], file: str) -> None:
    said, out = imported
    reasons = {row["file"]: row["reason"] for row in _rows(out / "quarantine.csv")}
    assert LEFT_OUT[file] in reasons[file]
    assert f"- {file}: {reasons[file]}" in said


def test_nothing_else_is_left_out(imported: tuple[str, Path]) -> None:
    assert {row["file"] for row in _rows(imported[1] / "quarantine.csv")} == set(LEFT_OUT)


@pytest.mark.parametrize("guess", GUESSED)
def test_guesses_are_said_aloud(imported: tuple[str, Path], guess: str) -> None:
    assert guess in imported[0]


def test_every_picture_of_every_format_is_there_with_its_tag_and_mask(imported: tuple[str, Path]) -> None:
    said, out = imported
    labels = {row["image"]: row["label"] for row in _rows(out / "labels.csv")}
    pages = [f"Patient_02-Serie-p000{page}" for page in (1, 2, 3)]
    assert [labels[page] for page in pages] == ["lesion"] * 3
    assert [labels[f"Patient_02-Film-p000{page}"] for page in (1, 2, 3)] == ["normal"] * 3
    dicom = ("Patient_03-still", "Patient_03-run-f0000", "Patient_03-run-f0001")
    assert [labels[name] for name in dicom] == ["lesion"] * 3
    assert sum(name.startswith("Patient_04-Koloskopie-f") for name in labels) == 4  # four seconds, one frame of each
    assert labels["Patient_08-Rätsel"] == ""
    masks = {path.stem for path in (out / "masks").iterdir()}
    assert masks == {"Patient_01-Gerät", *(f"Patient_0{n}-IMG_0{n}_1" for n in (1, 2, 3))}
    assert f"- {len(labels) - len(masks)} images have no mask: they serve for their tag" in said
    assert f"{len(labels)} images ({sum(label == 'lesion' for label in labels.values())} lesion" in said


def test_no_patient_stands_on_both_sides(imported: tuple[str, Path]) -> None:
    sides: dict[str, set[str]] = {}
    for row in _rows(imported[1] / "labels.csv"):
        sides.setdefault(row["patient"], set()).add(row["split"])
    assert set(sides) == {f"Patient_0{number}" for number in range(1, 9)}
    assert all(len(parts) == 1 for parts in sides.values())
    assert {part for parts in sides.values() for part in parts} == {"train", "test"}


def test_the_result_has_no_fault_and_no_name_of_a_person(imported: tuple[str, Path]) -> None:
    out = imported[1]
    assert inspect_folder(out).errors == []
    written = [path.read_bytes() for path in out.rglob("*") if path.suffix in (".csv", ".md", ".png")]
    assert not any(b"4711" in content or b"Muster" in content for content in written)


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path, imported: tuple[str, Path]) -> None:
    table = build(tmp_path / "Studie")
    before = sorted(tmp_path.rglob("*"))
    said = _say("import", "table", table, "--lesion", "Polyp", "--dry-run")
    assert sorted(tmp_path.rglob("*")) == before
    assert said.splitlines()[2:] == imported[0].splitlines() and said.startswith("Nothing was written")
