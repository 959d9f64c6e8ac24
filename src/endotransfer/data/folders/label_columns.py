"""Columns that hold tags under another name than `label`."""

from collections.abc import Mapping, Sequence

from endotransfer.data.folders.group_columns import letters

LABEL_NAMES = (
    *("label", "tag", "befund", "lasion", "laesion", "lesion", "polyp", "diagnose", "diagnosis", "pathologie"),
    *("klasse", "class", "category", "kategorie", "finding", "ergebnis", "result"),
)


def label_column(columns: Sequence[str], rows: Sequence[Mapping[str, str]], labels: Sequence[str]) -> str | None:
    """The column to be read as `label`: one in which nothing but `labels` is written, so that no tag is guessed."""
    for column in other_names(columns):
        values = {row.get(column, "") for row in rows} - {""}
        if values and values <= {*labels}:
            return column
    return None


def other_names(columns: Sequence[str]) -> list[str]:
    """The columns that may hold tags by their name, where none is called `label` in any capitals."""
    if any(column.casefold() == "label" for column in columns):
        return []
    return [column for column in columns if column != "finding" and letters(column) in LABEL_NAMES]
