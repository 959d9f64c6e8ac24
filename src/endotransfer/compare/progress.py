"""How far a benchmark is and how long it will take, on a terminal as a bar, and a line for each cell anywhere."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from endotransfer.compare.cells import Cell
from endotransfer.compare.run_cell import Outcome
from endotransfer.metrics.figure import figures, leading_first


def seconds_left(waiting: Iterable[str], known: Sequence[tuple[str, float]], jobs: int) -> float | None:
    """How long the cells of the methods `waiting` will take, from the (method, seconds) of those that are done.

    A method that has not been seen yet is taken for an average one; None where nothing is known at all.
    """
    if not known:
        return None
    average = fmean(seconds for _, seconds in known)
    by_method = {name: fmean(s for other, s in known if other == name) for name, _ in known}
    return sum(by_method.get(name, average) for name in waiting) / jobs


class CellProgress:
    """Shown by `shown_progress`."""

    def __init__(self, console: Console, bar: Progress, cells: int, done: int) -> None:
        self._console, self._bar, self._cells, self._done = console, bar, cells, done
        self._task = bar.add_task("cells", total=cells, completed=done, left="")

    def begin(self, cell: Cell) -> None:
        self._bar.update(self._task, description=f"{cell.row.label}, seed {cell.seed}")

    def end(self, cell: Cell, outcome: Outcome, left: float | None) -> None:
        self._done += 1
        time_left = "" if not left else f"about {timedelta(seconds=round(left))} left"
        self._bar.update(self._task, completed=self._done, left=time_left)
        said = outcome.error or _figures(outcome)
        line = f"{self._done} of {self._cells}: {cell.row.label}, seed {cell.seed}: {said}"
        rest = f"; {outcome.seconds:.0f} s, {time_left}" if time_left else f"; {outcome.seconds:.0f} s"
        self._console.print(line + rest, markup=False, highlight=False, soft_wrap=True)


def _figures(outcome: Outcome) -> str:
    shown = leading_first(figure for figure in figures(shown=("main",)) if not figure.by_class)
    values = {figure.label: outcome.results and outcome.results.figure(figure.name) for figure in shown}
    known = [f"{label} {value:.2f}" for label, value in values.items() if value is not None]
    return ", ".join(known) or "no masks to measure"


@contextmanager
def shown_progress(console: Console, cells: int, done: int) -> Iterator[CellProgress]:
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"), console=console, disable=not console.is_terminal, transient=True,
    )  # fmt: skip
    with bar:
        yield CellProgress(console, bar, cells, done)
