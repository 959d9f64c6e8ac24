"""The bar of every long piece of work: what is going on, how far it is, and the time left."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


def progress_bar(console: Console, *, shown: bool) -> Progress:
    """Description, progress, elapsed and remaining time.  Hidden unless `shown` and the console is a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        disable=not (shown and console.is_terminal),
        transient=True,
    )
