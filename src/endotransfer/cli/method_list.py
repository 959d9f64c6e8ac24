"""Names and summaries of methods for `endotransfer methods`, without the seconds that torch takes to import.

Those of the package are read from the text of their files (`name = "..."` in a class's body); only where a plug-in or
`--import` may have added some are the methods imported.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import endotransfer
from endotransfer.plugins import has_plugins


@dataclass(frozen=True)
class MethodLine:
    name: str
    summary: str
    presets: tuple[str, ...] = ("default",)


def list_methods() -> list[MethodLine]:
    """Every method that an experiment can name, sorted."""
    if has_plugins("endotransfer.methods"):
        return registered_methods()
    folder = Path(endotransfer.__file__).parent / "methods"
    lines = written_methods(*(path.read_text(encoding="utf-8") for path in folder.glob("*.py")))
    return sorted(lines, key=lambda line: line.name)


def registered_methods() -> list[MethodLine]:
    """The same from the methods themselves."""
    from endotransfer.methods import METHODS

    return [MethodLine(name, method.summary, tuple(method.presets)) for name, method in METHODS.items()]


def written_methods(*texts: str) -> Iterator[MethodLine]:
    """The methods that files define: classes whose body gives them a name and a summary.

    Presets that a class does not state are those of the class that it extends.
    """
    nodes = [node for text in texts for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    classes = {node.name: (dict(_assigned(node)), [_base(base) for base in node.bases]) for node in nodes}

    def presets(name: str) -> tuple[str, ...]:
        values, bases = classes.get(name, ({}, []))
        return _keys(values.get("presets")) or next(filter(None, map(presets, bases)), ())

    for name, (values, _) in classes.items():
        if (called := _text(values.get("name"))) and (summary := _text(values.get("summary"))):
            yield MethodLine(called, summary, presets(name) or MethodLine.presets)


def _base(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _assigned(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    for line in node.body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            yield line.targets[0].id, line.value
        elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
            yield line.target.id, line.value


def _text(value: ast.expr | None) -> str:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _keys(value: ast.expr | None) -> tuple[str, ...]:
    return tuple(_text(key) for key in value.keys) if isinstance(value, ast.Dict) else ()
