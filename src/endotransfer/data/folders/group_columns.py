"""Columns that tie images together, under the names that hospitals and labelling programmes give them."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from endotransfer.data.folders.faults import failure
from endotransfer.data.folders.folder_contents import FolderEntry
from endotransfer.samples import GROUPINGS

# The widest first: a patient has several cases, and a case several studies.
_PATIENT = (
    *("patient", "patientid", "patientnr", "patientno", "patientnumber", "patientname", "patientkey", "patientcode"),
    *("patienten", "patientenid", "patientennr", "patientennummer", "patientin", "patientinid", "pat", "patid"),
    *("patnr", "pid", "mrn", "person", "personid", "subject", "subjectid", "subjectnr", "subjectno", "proband"),
    *("probandid", "probandnr", "probandennummer", "teilnehmer", "teilnehmerid", "participant", "participantid"),
    *("case", "caseid", "caseno", "casenr", "casenumber", "fall", "fallid", "fallnr", "fallnummer"),
    *("study", "studyid", "studie", "studienid", "exam", "examid", "examination", "examinationid"),
    *("untersuchung", "untersuchungid", "untersuchungsid", "untersuchungsnr", "untersuchungsnummer"),
)
_SEQUENCE = ("sequence", "sequenceid", "sequenz", "sequenzid", "video", "videoid", "videofile", "film", "clip")
_NAMES = {"patient": _PATIENT, "sequence": _SEQUENCE}


def group_columns(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """`patient` and `sequence` -> the column that holds them; absent where none does.

    An empty column holds nothing.  Under any other name than the plain one, a column that says the same everywhere
    does not tell images apart either: `study` is often the name of the whole project.
    """
    found = {}
    for kind in _NAMES:
        for column in candidates(kind, columns):
            values = {row.get(column, "") for row in rows} - {""}
            if values and (column == kind or len(values) > 1 or len(rows) == 1):
                found[kind] = column
                break
    return found


def candidates(kind: str, columns: Sequence[str]) -> list[str]:
    """The columns that may hold `kind` (patient or sequence) by their name, the best first."""
    rank = {name: place for place, name in enumerate(_NAMES[kind])}
    known = [column for column in columns if letters(column) in rank]
    return sorted(known, key=lambda column: rank[letters(column)])


def letters(column: str) -> str:
    """`Patienten-Nr.` -> `patientennr`: what is left of a name without capitals, accents and marks."""
    plain = unicodedata.normalize("NFKD", column.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def one_spelling(values: Iterable[str]) -> dict[str, str]:
    """Each value -> the first of those that differ from it in capitals, spaces or composed letters alone.

    `P07` and `p07` are one patient: two would stand on both sides of a split.
    """
    first: dict[str, str] = {}
    alike = ((value, " ".join(unicodedata.normalize("NFC", value).casefold().split())) for value in values)
    return {value: first.setdefault(same, value) for value, same in alike}


def with_group(entries: Sequence[FolderEntry], columns: Sequence[str], group: str, table: object) -> list[FolderEntry]:
    """`entries` with the column `group` as their patient, where no patient of theirs is known."""
    if group not in columns:
        known = ", ".join(columns) or "none"
        raise failure("no-column", table, f"has no column '{group}'", f"name one of its columns ({known})")
    if any(entry.cell("patient") for entry in entries):
        return list(entries)
    spelled = one_spelling(entry.cell(group) for entry in entries)
    return [replace(entry, cells={**entry.cells, "patient": spelled[entry.cell(group)]}) for entry in entries]


def unknown_patients(entries: Sequence[FolderEntry]) -> str | None:
    """A sentence where patients cannot be kept on one side of a split, for want of knowing them."""
    without = sum(not entry.cell("patient") for entry in entries)
    if not without:
        return None
    risk = "images of one patient may stand on both sides"
    name_it = "name the column that tells patients apart (--group COLUMN)"
    if without < len(entries):
        return f"no patient is known of {without} of {len(entries)} images: {risk}; fill the column, or {name_it}"
    known = next(_kinds_in_all(entries), None)
    kept = f" (each {known} is kept together)" if known else ""
    return f"no patient is known: {risk}{kept}; {name_it}"


def _kinds_in_all(entries: Sequence[FolderEntry]) -> Iterator[str]:
    kinds = (kind for kind in GROUPINGS if kind != "patient")
    return (kind for kind in kinds if all(entry.cell(kind) for entry in entries))
