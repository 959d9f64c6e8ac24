"""The command line as a user meets it, and a small study and experiment that a test may damage."""

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from endotransfer.cli.main import main
from endotransfer.config import as_yaml

CONFIG, DATA, CHECKPOINT, DIVERGED = 2, 3, 4, 5


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run the command line in this process; returns the exit code and what it said."""

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["endotransfer", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return code, captured.err + captured.out

    return run


@pytest.fixture
def study(tasks: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of the tagged study that a test may damage."""
    return Path(shutil.copytree(tasks["tagged"], tmp_path / "tagged"))


@pytest.fixture
def experiment(make_experiment: Any, study: Path, tmp_path: Path) -> Path:
    path = tmp_path / "experiment.yaml"
    path.write_text(as_yaml(make_experiment("tagged", "source_only", data=study, epochs=1, steps_per_epoch=2)))
    return path


def says(output: str, *words: str) -> None:
    """One sentence with these words in it."""
    sentences = [line for line in output.splitlines() if line.startswith("error: ")]
    assert len(sentences) == 1, output
    for word in words:
        assert re.search(word, sentences[0]), (word, sentences[0])
