"""A notebook as a page: its text and code, and the outputs that were saved with it."""

import base64
import re
from pathlib import Path
from typing import Any

import nbformat

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and the pictures that it shows by their file names."""
    notebook = nbformat.read(path, as_version=4)
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for index, output in enumerate(cell.outputs):
            if picture := output.get("data", {}).get("image/png"):
                name = f"{path.stem}-{number}-{index}.png"
                pictures[name] = base64.b64decode(picture)
                parts.append(f"![Output of the cell above]({name})")
            elif text := _text(output):
                parts.append(f'```text {{ .output title="Output" }}\n{text}\n```')
    title, *rest = parts
    download = f'<p>This page is a notebook: <a href="{path.name}" download>{path.name}</a>. The tests run it.</p>'
    return "\n\n".join([*_below_title(title, download), *rest]) + "\n", pictures


def _below_title(first: str, line: str) -> list[str]:
    title, _, rest = first.partition("\n")
    return [title, line, rest.strip()]


def _text(output: dict[str, Any]) -> str:
    """What a stream or a value looks like as plain text."""
    text = output.get("text") or output.get("data", {}).get("text/plain") or ""
    return ANSI.sub("", str(text)).strip("\n")
