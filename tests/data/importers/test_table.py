"""A table of tags of any make, and images wherever they lie."""

import csv
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from endotransfer.data.importers import ImportReport, import_dataset
from endotransfer.data.importers.tag_words import finding_of, tag_words
from endotransfer.errors import ConfigError, DataError

Write = Callable[..., Path]


def labels(folder: Path, column: str = "label") -> dict[str, str]:
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        return {row["image"]: row[column] for row in csv.DictReader(file)}


@pytest.fixture
def study(source: Path, draw: Any) -> Write:
    """`study("a.jpg", "P1/b.jpg", table="...")`: those photographs, and the table beside them."""

    def write(*images: str, table: str, encoding: str = "utf-8") -> Path:
        for image in images:
            draw.photo(source / image)
        (source / "tags.csv").write_bytes(table.encode(encoding))
        return source / "tags.csv"

    return write


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_separator_and_encoding_are_found_out(study: Write, out: Path, separator: str, encoding: str) -> None:
    lines = ["Dateiname;Befund;Patient", "a.jpg;auffällig;Müller", 'b.jpg;"unauffällig";Ärmel']
    report = import_dataset(
        "table", study("a.jpg", "b.jpg", table="\n".join(lines).replace(";", separator), encoding=encoding), out
    )
    assert labels(out) == {"a": "lesion", "b": "normal"}
    assert labels(out, "patient") == {"a": "Müller", "b": "Ärmel"}
    assert any("separated by" in guess for guess in report.guesses) == (separator != ",")
    assert any("Windows-1252" in guess for guess in report.guesses) == (encoding == "cp1252")


def test_columns_and_words_can_be_named(study: Write, out: Path) -> None:
    table = study("a.jpg", "b.jpg", "c.jpg", table="x,y,z\na,Polyp; Adenom,1\nb,glatt,1\nc,unklar,2\n")
    report = import_dataset("table", table, out, image="x", label="Y", lesion="polyp", normal="Glatt", patient="z")
    assert labels(out) == {"a": "lesion", "b": "normal", "c": ""}
    assert labels(out, "finding") == {"a": "Polyp; Adenom", "b": "glatt", "c": "unklar"}
    assert [guess for guess in report.guesses if "'unklar' (1)" in guess]


def test_a_column_that_is_not_there_is_refused_with_those_that_are(study: Write, out: Path) -> None:
    table = study("a.jpg", table="x,y\na,1\n")
    with pytest.raises(DataError, match=r"has no column 'Bild' \(option image\); it has: x, y"):
        import_dataset("table", table, out, image="Bild")
    with pytest.raises(DataError, match="no column of file names that could be told"):
        import_dataset("table", table, out)


def test_a_file_is_found_however_it_is_written(study: Write, out: Path) -> None:
    images = ("P1/a.jpg", "P2/a.jpg", "P2/deep/b.JPG", "c.png", "d.png")
    rows = ["file,label,patient", "P1\\A.JPG,1,P1", "a.jpg,0,P2", "b,ja,P2", "C.jpg,nein,P3", "./d.png,1,P4"]
    report = import_dataset("table", study(*images, table="\n".join(rows)), out)
    assert labels(out) == {"P1-a": "lesion", "P2-a": "normal", "P2-deep-b": "lesion", "c": "normal", "d": "lesion"}
    assert report.skipped == []


def test_what_does_not_fit_is_named(study: Write, out: Path) -> None:
    rows = ["file,label", "a.jpg,1", "gone.jpg,1", ",1", "c.jpg,1", "c.jpg,0", "d.jpg,1,2,3", "x.jpg,1", "x.jpg,1"]
    images = ("1/a.jpg", "2/a.jpg", "b.jpg", "c.jpg", "x.jpg")
    report = import_dataset("table", study(*images, table="\n".join(rows)), out)
    assert list(labels(out)) == ["x"]
    assert sorted(report.skipped) == [
        "1/a.jpg: has no line in tags.csv",
        "2/a.jpg: has no line in tags.csv",
        "b.jpg: has no line in tags.csv",
        "c.jpg: two lines of the table contradict each other",
        "tags.csv, line 2: names 'a.jpg', and 2 files are called so; write the sub-folder too",
        "tags.csv, line 3: names 'gone.jpg', and there is no such file",
        "tags.csv, line 4: names no image",
        "tags.csv, line 6: names c.jpg, as line 5 does, and says otherwise",
        "tags.csv, line 7: has 4 cells for 2 columns",
    ]


def test_a_table_of_rows_that_are_all_too_long_names_the_first(study: Write, out: Path) -> None:
    table = study("a.jpg", table="Bild;Befund;Text\na.jpg;1;klein; flach\n")
    with pytest.raises(DataError, match=r"no row that can be read \(first: tags\.csv, line 2: has 4 cells"):
        import_dataset("table", table, out)


def test_two_columns_of_one_name_are_refused_where_they_count(study: Write, out: Path) -> None:
    table = study("a.jpg", table="Bild,Befund,Text,Text,Befund\na.jpg,1,x,y,0\n")
    with pytest.raises(DataError, match="has two columns called 'Befund'; rename or remove one"):
        import_dataset("table", table, out)
    assert import_dataset("table", study("a.jpg", table="Bild,Text,Text\na.jpg,x,y\n"), out).images == 1


@pytest.mark.parametrize("said", ["sep=;", "SEP=;\r", '"sep=;"'])
def test_the_line_that_tells_a_spreadsheet_the_separator_is_no_header(study: Write, out: Path, said: str) -> None:
    import_dataset("table", study("a.jpg", table=f"{said}\nBild;Befund\na.jpg;1\n"), out)
    assert labels(out) == {"a": "lesion"}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_both_forms_of_an_umlaut_are_one_name(study: Write, out: Path, form: Literal["NFC", "NFD"]) -> None:
    other: Literal["NFC", "NFD"] = "NFD" if form == "NFC" else "NFC"
    rows = ["file,label,patient", unicodedata.normalize(other, "Gerät.jpg,unauffällig,Müller")]
    image = unicodedata.normalize(form, "Müller/Gerät.jpg")
    report = import_dataset("table", study(image, table="\n".join(rows)), out)
    assert report.skipped == []
    assert list(labels(out).values()) == ["normal"]


@pytest.mark.parametrize("label", ["Polyp", "Befund", "Läsion", "Diagnose", "label", "class"])
@pytest.mark.parametrize("image", ["Dateiname", "Bild", "file_name", "Image ID"])
def test_columns_of_usual_names_are_found(study: Write, out: Path, image: str, label: str) -> None:
    table = study("a.jpg", "b.jpg", table=f"Nr,{label},{image}\n1,1,a.jpg\n2,0,b.jpg\n")
    report = import_dataset("table", table, out)
    assert labels(out) == {"a": "lesion", "b": "normal"}
    assert [guess for guess in report.guesses if f"'{label}' was taken for the label" in guess]


@pytest.mark.parametrize("folder", ["masks", "Masken", "Ground Truth", "ground_truth", "GT", "Annotations"])
def test_masks_are_known_by_their_folder(study: Write, draw: Any, out: Path, folder: str) -> None:
    draw.mask(out.parent / "download" / folder / "P1" / "a.png", draw.blob())
    report = import_dataset("table", study("Aufnahmen/P1/colon/a.jpg", table="file,label\na.jpg,1\n"), out)
    assert (report.images, report.masks, report.skipped) == (1, 1, [])


def test_a_mask_beside_its_image_is_its_mask(study: Write, draw: Any, out: Path) -> None:
    draw.mask(out.parent / "download" / "P1" / "a_Maske.png", draw.blob())
    report = import_dataset("table", study("P1/a.jpg", "P2/b.jpg", table="file,label\na.jpg,1\nb.jpg,0\n"), out)
    assert (report.images, report.masks, report.skipped) == (2, 1, [])


def test_a_row_never_takes_another_patients_image(study: Write, out: Path) -> None:
    table = study("P1/a.jpg", "P2/b.jpg", table="file,label,patient\na.jpg,1,P2\nb.jpg,0,P2\n")
    report = import_dataset("table", table, out)
    assert list(labels(out)) == ["P2-b"]
    assert report.skipped[0] == "tags.csv, line 2: names 'a.jpg', which does not lie in the folder of its patient"


def test_the_patient_comes_from_a_pattern_or_from_the_folder(study: Write, out: Path) -> None:
    table = study("S1/K07_1.jpg", "S1/K08_1.jpg", "S2/K07_2.jpg", table="file,label\nK07_1,1\nK08_1,0\nK07_2,1\n")
    import_dataset("table", table, out / "pattern", patient_pattern=r"(K\d+)_")
    assert set(labels(out / "pattern", "patient").values()) == {"K07", "K08"}
    report = import_dataset("table", table, out / "bare")
    assert labels(out / "bare", "patient") == {"S1-K07_1": "", "S1-K08_1": "", "S2-K07_2": ""}
    assert any(sentence.startswith("no patient is known") for sentence in report.cautions)
    with pytest.raises(ConfigError, match="option patient_pattern is no regular expression"):
        import_dataset("table", table, out / "wrong", patient_pattern="(")


def test_folders_of_findings_are_no_patients_but_many_folders_are(source: Path, draw: Any, out: Path) -> None:
    for folder in ("Polyp", "Ulkus"):
        draw.photo(source / "images" / folder / "a.jpg")
    report = import_dataset("folders", source, out / "few", masks="")
    assert report.patients == 0
    for folder in ("Anna", "Berta", "Cäsar", "Dora", "Emil", "P07"):
        draw.photo(source / "images" / folder / "normal" / f"{folder}.jpg")
    report = import_dataset("folders", source, out / "many", masks="")
    assert report.patients == 8 and report.normal == 6
    assert any("taken from the sub-folder: 8 patients" in guess for guess in report.guesses)


@pytest.mark.parametrize(
    ("folders", "patients"),
    [
        (["2023/P1", "2024/P1", "2024/P2"], {"P1", "P2"}),  # who came twice is one patient
        (["2024-03-15/P1", "20240316/P2"], {"P1", "P2"}),
        (["P1/2023", "P1/2024", "P2/2024"], {"P1", "P2"}),
        ([f"{year}/{name}" for year in (2023, 2024) for name in ("Anna", "Berta", "Cem", "Dora", "Emil")],
         {"Anna", "Berta", "Cem", "Dora", "Emil"}),
        (["2023", "2024"], set()),
        (["0815", "2013"], {"0815", "2013"}),
    ],
)  # fmt: skip
def test_a_year_is_no_patient(source: Path, draw: Any, out: Path, folders: list[str], patients: set[str]) -> None:
    for number, folder in enumerate(folders):
        draw.photo(source / "images" / folder / f"{number}.jpg")
    import_dataset("folders", source, out, masks="")
    assert set(labels(out, "patient").values()) - {""} == patients


def test_a_spreadsheet_and_an_empty_table_are_refused(study: Write, source: Path, out: Path) -> None:
    table = study("a.jpg", table="file,label\n")
    with pytest.raises(DataError, match="has no row below its first line"):
        import_dataset("table", table, out)
    (source / "tags.xlsx").write_bytes(b"PK")
    with pytest.raises(DataError, match="is a spreadsheet; save it as CSV"):
        import_dataset("table", source / "tags.xlsx", out)
    with pytest.raises(DataError, match="there is no file"):
        import_dataset("table", source / "tag.csv", out)


@pytest.mark.parametrize(
    ("cell", "tag", "finding"),
    [("1", "lesion", ""), (" Ja ", "lesion", ""), ("0", "normal", ""), ("o.B.", "normal", ""), ("", "", ""),
     ("POLYP", "lesion", "POLYP"), ("Ulkus+Polyp", "lesion", "Ulkus+Polyp"), ("kein Polyp", "", "kein Polyp")],
)  # fmt: skip
def test_words(cell: str, tag: str, finding: str) -> None:
    assert (tag_words("Polyp", "").tag(cell), finding_of(cell)) == (tag, finding)


def test_a_report_is_the_same_dry_and_wet(study: Write, out: Path) -> None:
    table = study("a.jpg", table="file,label\na,1\n")
    dry: ImportReport = import_dataset("table", table, None, dry_run=True)
    assert not out.exists()
    assert str(dry).endswith(str(import_dataset("table", table, out)))
    with pytest.raises(ConfigError, match="the folder to write is not given"):
        import_dataset("table", table, None)
