"""Results as a table, for people first."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

HEADS = ("method", "preset", "seed", "IoU normal", "IoU lesion", "mIoU", "95 %", "Dice lesion", "AUROC of S1")


def row_of(results: dict[str, Any]) -> list[str]:
    """One line of the table.  What does not exist is a dash."""
    interval = (results.get("intervals") or {}).get("miou")
    return [
        results["method"],
        results["preset"],
        str(results["seed"]),
        _number(results.get("iou_normal")),
        _number(results.get("iou_lesion")),
        _number(results.get("miou")),
        f"{interval[0]:.1f} to {interval[1]:.1f}" if interval else "-",
        _number(results.get("dice_lesion")),
        _number((results.get("tags") or {}).get("auroc")),
    ]


def print_results(results: Sequence[dict[str, Any]], console: Console | None = None, title: str = "") -> None:
    console = console or Console()
    table = Table(title=title or None, title_justify="left")
    for index, head in enumerate(HEADS):
        table.add_column(head, justify="left" if index < 2 else "right")
    for one in results:
        table.add_row(*row_of(one))
    console.print(table)
    for one in results:
        _print_evidence(one, console)


def as_markdown(results: Sequence[dict[str, Any]]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|" + "---|" * 3 + "---:|" * (len(HEADS) - 3)]
    return "\n".join([*lines, *("| " + " | ".join(row_of(one)) + " |" for one in results)]) + "\n"


def _print_evidence(results: dict[str, Any], console: Console) -> None:
    """Where there is no mask to measure against, what the tags can tell."""
    evidence = results.get("tag_evidence")
    if results.get("miou") is not None or not evidence:
        return
    console.print(f"What tags alone can tell ({evidence['note']}):")
    for name, value in evidence.items():
        if isinstance(value, float):
            console.print(f"  {name.replace('_', ' ')}: {value:.1f} %")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
