"""An inspection as text for the terminal."""

from collections.abc import Iterable, Mapping
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from endotransfer.data.folders.faults import Fault, Note
from endotransfer.data.inspect.inspection import Inspection

_SHOWN = 5  # files of each kind of fault; JSON has them all
_SHARES = ("class_share", "lesion_area", "frames", "overlays_by_tag")


def render(inspection: Inspection) -> RenderableType:
    """Fingerprint, notes, faults and a last line that says how many."""
    parts: list[RenderableType] = [Text(str(inspection.path), style="bold"), _numbers(inspection.fingerprint)]
    parts += [line for note in inspection.notes if not note.caution for line in _note(note)]
    for (severity, code), faults in groupby(inspection.faults, key=lambda fault: (fault.severity, fault.code)):
        parts += _faults(severity, code, list(faults))
    parts += [line for note in inspection.cautions for line in _note(note)]
    parts.append(_summary(inspection))
    return Group(*parts)


def _numbers(numbers: Mapping[str, object]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, value in numbers.items():
        if text := _spell(value, per_cent=name in _SHARES):
            table.add_row(Text(name.replace("_", " ")), Text(text))
    return table


def _spell(value: object, per_cent: bool) -> str:
    if isinstance(value, dict):
        nested = any(isinstance(inner, dict) for inner in value.values())
        parts = (f"{name} {_spell(inner, per_cent)}" for name, inner in value.items())
        return ("; " if nested else ", ").join(parts)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{100 * value:.1f} %" if per_cent else f"{value:.4g}"
    return str(value)


def _note(note: Note) -> Iterable[Text]:
    of = f" ({len(note.files)}: {_some(note.files)})" if note.files else ""
    if note.caution:
        yield Text(f"caution: {note.what}{of}", style="yellow")
    else:
        yield Text(f"note: {note.what}{of}", style="dim")


def _faults(severity: str, code: str, faults: list[Fault]) -> list[RenderableType]:
    style = "red" if severity == "error" else "yellow"
    lines: list[RenderableType] = [Text(f"{severity}: {code} ({len(faults)})", style=style)]
    lines += [Text(f"  {fault.file}: {fault.what}; {fault.fix}") for fault in faults[:_SHOWN]]
    if len(faults) > _SHOWN:
        lines.append(Text(f"  and {len(faults) - _SHOWN} more (--json lists them)", style="dim"))
    return lines


def _some(files: tuple[str, ...]) -> str:
    return ", ".join(files[:3]) + (", ..." if len(files) > 3 else "")


def _summary(inspection: Inspection) -> Text:
    errors, warnings = len(inspection.errors), len(inspection.faults) - len(inspection.errors)
    mind = f"; mind the caution{'s' * (len(inspection.cautions) > 1)} above" if inspection.cautions else ""
    if not inspection.faults:
        return Text(f"no fault found{mind}", style="yellow" if mind else "green")
    return Text(f"{errors} errors, {warnings} warnings{mind}", style="red" if errors else "yellow")
