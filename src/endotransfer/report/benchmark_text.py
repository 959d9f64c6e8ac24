"""The words and marks that every form of a benchmark's table shares: figures, footnotes, the legend."""

from string import ascii_lowercase

from endotransfer.metrics import FIGURES
from endotransfer.metrics.figure import legend as explained
from endotransfer.report.benchmark_rows import BY_CLASS, BenchmarkTable, SeedMean, TableRow
from endotransfer.report.interval_words import interval_text
from endotransfer.report.ranking import why_unmarked

UNSURE = "~"  # behind a difference that seeds or groups of images do not carry
MEASURED = "Figures are per cent, from one confusion matrix over all test images, at the last checkpoint."


def shown(figure: SeedMean | None, decimals: int, plus_minus: str = " ± ") -> str:
    """`63.96 ± 0.41`, without the deviation where there is one run; a dash where there is none."""
    if figure is None:
        return "-"
    deviation = "" if figure.deviation is None else f"{plus_minus}{figure.deviation:.{decimals}f}"
    return f"{figure.mean:.{decimals}f}{deviation}"


def against(table: BenchmarkTable, row: TableRow) -> str:
    """`+20.1 [18.8, 21.5]`: how far mIoU lies above the reference's; with a `~` where the two are not told apart."""
    if row.label == table.reference:
        return "reference"
    if row.difference is None:
        return "-"
    parts = [
        f"{row.difference:+.1f}",
        interval_text(row.interval) if row.interval else "",
        UNSURE * (not row.told_apart),
    ]
    return " ".join(filter(None, parts))


def has_printed(table: BenchmarkTable) -> bool:
    """Whether the paper prints anything for a row of this table."""
    return any(row.printed for row in table.rows)


def has_mean_intervals(table: BenchmarkTable) -> bool:
    return any(mean_interval(row) != "-" for row in table.rows)


def mean_interval(row: TableRow) -> str:
    """Of the row's mean mIoU."""
    figure = row.figures.get("miou")
    return interval_text(figure.interval if figure else None)


def footnotes(table: BenchmarkTable) -> dict[str, str]:
    """Letter -> sentence: first the paper's faulty means among the rows shown, then what did not run."""
    faulty = table.printed.footnotes() if table.printed else {}
    of_paper = [faulty[row.printed.label] for row in table.rows if row.printed and row.printed.label in faulty]
    sentences = dict.fromkeys([*of_paper, *(note for row in table.rows for note in row.notes)])
    return dict(zip(_letters(len(sentences)), sentences, strict=True))


def marks_of(table: BenchmarkTable, row: TableRow, *, of_paper: bool) -> str:
    """The letters behind a printed mean (`of_paper`) or behind our own system's name: `a`, `b, c`, or nothing."""
    faulty = table.printed.footnotes() if table.printed else {}
    wanted = {faulty.get(row.printed.label) if row.printed else None} if of_paper else set(row.notes)
    return ", ".join(letter for letter, sentence in footnotes(table).items() if sentence in wanted)


def legend(table: BenchmarkTable, best: str, second: str) -> list[str]:
    """What the columns and marks mean; `best` and `second` name the two marks in the form at hand."""
    columns = [FIGURES.get(column) for column in table.columns if not column.startswith(BY_CLASS)]
    by_class = "A column a class: its IoU; " if table.by_class else ""
    lines = [f"{MEASURED} {by_class}{explained(figure for figure in columns if not figure.only_for)}."]
    lines += [f"{explained([figure])}." for figure in columns if figure.only_for]
    lines.append("Mean ± sample standard deviation over seeds; `seeds` is how many runs that is. A dash: no figure.")
    if table.reference:
        lines.append(
            f"`against {table.reference}`: difference in mIoU, points, runs paired by seed, with its 95 % interval; "
            f"{UNSURE}: not told apart from it."
        )
    lines += table.basis
    bound = ", ".join(row.label for row in table.rows if row.upper_bound)
    apart = f" {bound} saw target masks: an upper bound, set apart and not ranked." if bound else ""
    marks = (
        f"Best: {best}, with all rows that are not told apart from it; runner-up: {second}, the same among the rest."
    )
    lines.append((why_unmarked(table) or marks) + apart)
    if table.printed and has_printed(table):
        lines.append(
            f"`paper`: what the paper prints for that system in its Table {table.printed.number}, on its own data and "
            "its own training; compare orders, not figures."
        )
    return lines


def provenance(table: BenchmarkTable) -> str:
    """When and how, as far as the results say."""
    command = f" with `{table.command}`" if table.command else ""
    return f"Measured{f' {table.date}' if table.date else ''}{command}." if table.date or command else ""


def _letters(number: int) -> list[str]:
    """a ... z, aa ... zz."""
    return [*ascii_lowercase, *(first + second for first in ascii_lowercase for second in ascii_lowercase)][:number]
