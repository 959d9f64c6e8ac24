"""Results as a table, for people first: it fits a terminal of 80 columns."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

HEADS = ("system", "seed", "images", "IoU n", "IoU d", "mIoU", "95 %", "Dice", "AUROC")
LEGEND = "Per cent. n: normal, d: lesion of any kind; 95 %: interval of mIoU; Dice: of d; AUROC: of the tag head S1."
PRANET = ("mean_dice", "mean_iou", "max_dice", "s_measure", "mean_e_measure", "max_e_measure", "weighted_f", "mae")
ROOMY = 100  # columns from which on there is space between the figures


def row_of(results: dict[str, Any]) -> list[str]:
    """One line of the table.  What does not exist is a dash."""
    interval = (results.get("intervals") or {}).get("miou")
    return [
        system_of(results),
        str(results["seed"]),
        str(results.get("images", "-")),
        _number(results.get("iou_normal")),
        _number(results.get("iou_lesion")),
        _number(results.get("miou")),
        f"{interval[0]:.1f}-{interval[1]:.1f}" if interval else "-",
        _number(results.get("dice_lesion")),
        _number((results.get("tags") or {}).get("auroc")),
    ]


def system_of(results: dict[str, Any]) -> str:
    """`semantic_transfer (robust)`; a method without presets is its name alone; measured with flips it says so."""
    preset, flips = results.get("preset", "default"), " with flips" if results.get("flips") else ""
    return (results["method"] if preset == "default" else f"{results['method']} ({preset})") + flips


def print_results(results: Sequence[dict[str, Any]], console: Console | None = None, title: str = "") -> None:
    console = console or Console()
    gap = (0, 1) if console.width >= ROOMY else 0
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=gap, show_edge=False)
    table.add_column(HEADS[0], overflow="fold")  # the one column that may take two lines: a figure cut short is none
    for head in HEADS[1:]:
        table.add_column(head, justify="right", no_wrap=True)
    for one in results:
        table.add_row(*row_of(one))
    console.print(table)
    console.print(LEGEND, markup=False, highlight=False)
    for one in results:
        _print_evidence(one, console)
        _print_pranet(one, console)


def as_markdown(results: Sequence[dict[str, Any]]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|---|" + "---:|" * (len(HEADS) - 1)]
    rows = ["| " + " | ".join(row_of(one)) + " |" for one in results]
    return "\n".join([*lines, *rows, "", LEGEND]) + "\n"


def _print_evidence(results: dict[str, Any], console: Console) -> None:
    """Where there is no mask to measure against, what the tags can tell."""
    evidence = results.get("tag_evidence")
    if results.get("miou") is not None or not evidence:
        return
    console.print(f"What tags alone can tell ({evidence['note']}):", markup=False)
    for name, value in evidence.items():
        if isinstance(value, float):
            console.print(f"  {name.replace('_', ' ')}: {value:.1f} %", markup=False)


def _print_pranet(results: dict[str, Any], console: Console) -> None:
    """In lines of their own: no figure of that protocol may be taken for one of the table."""
    figures = results.get("pranet")
    if not figures:
        return
    console.print(
        f"PraNet protocol, {system_of(results)}, {figures['images']} images with a lesion (per cent):", markup=False
    )
    shown = [f"{name.replace('_', ' ')} {_number(figures[name])}" for name in PRANET]
    console.print("  " + ", ".join(shown), markup=False, highlight=False)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
