"""What the intervals of a table rest on, in words: seeds, groups of test images, and what a group is."""

from collections.abc import Iterable, Sequence

from endotransfer.compare.benchmark_results import BenchmarkCell, BenchmarkResults
from endotransfer.compare.decision import ONE_SEED
from endotransfer.compare.label_summary import IntervalBasis, LabelSummary
from endotransfer.metrics.group_kinds import describe_groups


def basis_of(entry: LabelSummary, cells: Iterable[BenchmarkCell]) -> IntervalBasis | None:
    """Of the row's own intervals; of an older file those of its differences, with the groups of its runs."""
    if entry.intervals is not None:
        return entry.intervals
    if entry.differences is None or entry.differences.groups is not None:
        return entry.differences
    known = [cell.results.intervals for cell in cells if cell.label == entry.label and cell.results.intervals]
    found = {"groups": known[0].groups, "group_kinds": known[0].group_kinds} if known else {}
    return entry.differences.model_copy(update=found)


def basis_sentences(results: BenchmarkResults) -> list[str]:
    """One for all rows that rest on the same; several where rows differ, with their labels."""
    rows: dict[str, list[tuple[str, int]]] = {}  # sentence with a gap for the number of seeds -> rows and seeds
    for entry in results.summary:
        basis = basis_of(entry, results.cells)
        if basis is not None and basis.over is not None:
            rows.setdefault(_sentence(basis), []).append((entry.label, len(basis.seeds)))
    said = []
    for sentence, members in rows.items():
        numbers = sorted({seeds for _, seeds in members})
        seeds = f"{numbers[0]} seeds" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} seeds"
        whose = "" if len(rows) == 1 else f" ({', '.join(label for label, _ in members)})"
        said.append(f"Intervals (95 %){whose} are over {sentence.format(seeds=seeds)}.")
    return said


def _sentence(basis: IntervalBasis) -> str:
    groups = _groups(basis).replace("{", "{{").replace("}", "}}")
    if basis.over == "seeds and images":
        return f"{{seeds}} and {groups}"
    if basis.over == "seeds":
        return "{seeds} alone, on the same test images"
    return f"{groups} alone; {ONE_SEED if len(basis.seeds) == 1 else 'seeds not resampled, so they are too narrow'}"


def _groups(basis: IntervalBasis) -> str:
    if basis.groups is None:
        return "groups of test images"
    what = describe_groups(basis.group_kinds)
    return f"{basis.groups} groups of test images" + (f": {what}" if what else "")


def interval_text(ends: Sequence[float] | None, decimals: int = 1) -> str:
    """`[18.8, 21.5]`; a dash where there is none."""
    return "-" if ends is None else f"[{ends[0]:.{decimals}f}, {ends[1]:.{decimals}f}]"
