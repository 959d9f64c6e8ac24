"""The curve of a video as a table: time, area, doubt, decision."""

import csv
import io
from collections.abc import Mapping

from endotransfer.data.folders.review_record import ReviewRecord, in_force, proposal
from endotransfer.spreadsheet import safe_cell

COLUMNS = ("frame", "seconds", "area", "doubt", "decision", "who", "when", "carried_from")


def curve_table(
    times: list[float], figures: Mapping[int, tuple[float, float]], records: Mapping[int, ReviewRecord]
) -> str:
    """A row for every frame that was predicted or decided on.  `figures`: number -> (area, doubt)."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for number in sorted(figures.keys() | records.keys()):
        area, doubt = (f"{value:.6f}" for value in figures[number]) if number in figures else ("", "")
        cells = [number, f"{times[number]:.3f}", area, doubt, *_decision(records.get(number, ReviewRecord()))]
        table.writerow(["" if cell is None else safe_cell(cell) for cell in cells])
    return text.getvalue()


def _decision(record: ReviewRecord) -> tuple[str, str, str, int | None]:
    found = proposal(record.versions) or in_force(record.versions)
    return ("", "", "", None) if found is None else (found.decision, found.who, found.when, found.carried_from)
