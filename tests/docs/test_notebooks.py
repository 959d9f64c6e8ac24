"""The tutorials run, and what is shown of them is a run of theirs without a path of somebody's machine."""

import re
from pathlib import Path

import nbformat
import pytest

from docs_site.run_notebooks import TUTORIALS, executed
from tests.docs.pages import SOURCE

NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["add-a-method", "own-folders", "python-api"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_as_much_as_what_was_saved(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SOURCE.parent))
    kinds = [[output.output_type for cell in notebook.cells for output in cell.get("outputs", [])]
             for notebook in (executed(path, tmp_path), nbformat.read(path, as_version=4))]  # fmt: skip
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_was_saved_is_small_and_names_no_machine(path: Path) -> None:
    assert path.stat().st_size < 300_000
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    texts = [str(output.get("text") or output["data"].get("text/plain", "")) for output in outputs]
    assert not [text for text in texts if re.search(r"(?:^|\s|')/(?:home|tmp|root|work|Users)/", text)]
