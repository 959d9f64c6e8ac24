"""Runs the tutorials and saves them with their outputs (`make notebooks`).  The tests run them too."""

import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_output

from docs_site.notebook_pages import ANSI

TUTORIALS = Path(__file__).resolve().parents[1] / "docs" / "tutorials"
_PATIENCE = 240  # seconds for one cell; on a machine that is not busy a whole notebook takes ten


def executed(notebook: Path, folder: Path) -> Any:
    """The notebook with the outputs of a run that worked in `folder`; an error of a cell is raised."""
    content = nbformat.read(notebook, as_version=4)
    NotebookClient(content, timeout=_PATIENCE, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in content.cells:
        cell.metadata.pop("execution", None)  # the time of day
        if cell.cell_type == "code":
            cell.outputs = _merged(cell.outputs)
    content.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return content


def _merged(outputs: list[Any]) -> list[Any]:
    """What was printed in pieces as one piece of plain text.  Warnings of libraries are not kept, they name paths; nor
    is HTML, which is the markup of a theme."""
    kept: list[Any] = []
    for output in map(_plain, outputs):
        if output.get("name") == "stderr":
            continue
        if kept and output.output_type == "stream" == kept[-1].output_type:
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


def _plain(output: Any) -> Any:
    """Rich displays each of its lines as a value of its own: that is printed text."""
    data = output.get("data", {})
    data.pop("text/html", None)
    if output.output_type == "display_data" and list(data) == ["text/plain"]:
        return new_output("stream", text=ANSI.sub("", data["text/plain"]))
    return output


def main() -> None:
    for notebook in sorted(TUTORIALS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(notebook, Path(folder)), notebook)
        print(f"{notebook.name}: {notebook.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
