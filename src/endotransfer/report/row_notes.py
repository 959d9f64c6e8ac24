"""The notes of a table's row: what did not run, what answers the same everywhere, what was trained otherwise."""

from collections.abc import Iterable, Sequence

from endotransfer.compare.benchmark_results import BenchmarkCell
from endotransfer.compare.decision import ONE_SEED
from endotransfer.compare.label_summary import LabelSummary


def row_notes(
    label: str, cells: Sequence[BenchmarkCell], seeds: Sequence[int], summary: LabelSummary | None
) -> tuple[str, ...]:
    """`seeds`: of the whole table."""
    notes = [*_faults(label, cells, seeds), *_collapsed(label, cells)]
    return (*notes, *_settings(summary), *_doubts(summary)) if summary else tuple(notes)


def _faults(label: str, cells: Sequence[BenchmarkCell], seeds: Sequence[int]) -> Iterable[str]:
    """Why a figure is missing, or stands on fewer runs than its neighbours."""
    for cell in cells:
        if cell.figure("miou") is None:
            reason = " ".join((cell.error or "no figures").split()).rstrip(".")
            yield f"{label}, seed {cell.seed}: failed ({reason})."
    there = {cell.seed for cell in cells}
    if not there:
        yield f"{label}: not run yet."
    for same_as in dict.fromkeys(cell.same_as for cell in cells):
        if same_as:
            yield f"{label}: the same runs as {same_as}."
    if there and (missing := [str(seed) for seed in seeds if seed not in there]):
        yield f"{label}: seed {', '.join(missing)} not run yet."


def _collapsed(label: str, cells: Sequence[BenchmarkCell]) -> Iterable[str]:
    """Runs that give one answer everywhere; their seeds where it is not all of them."""
    said: dict[str, list[str]] = {}
    for cell in cells:
        if what := cell.results.collapsed:
            said.setdefault(what, []).append(str(cell.seed))
    parts = [what if len(seeds) == len(cells) else f"{what} (seed {', '.join(seeds)})" for what, seeds in said.items()]
    if parts:
        yield f"{label}: {'; '.join(parts)}."


def _settings(summary: LabelSummary) -> Iterable[str]:
    """Settings in which the row is not like the others, so that it is no fair comparison."""
    if summary.settings:
        said = [f"{place} {own} (the other rows: {others})" for place, (own, others) in summary.settings.items()]
        yield f"{summary.label} was trained otherwise: {'; '.join(said)}."


def _doubts(summary: LabelSummary) -> Iterable[str]:
    """Why an interval is not the usual one, over seeds and images; one seed is said below the table."""
    about = summary.differences
    if about and about.note and about.note != ONE_SEED:
        yield f"Against {about.against}: {about.note}."
