"""The last line of the demo is a command that can be typed as it stands."""

import shlex
from pathlib import Path

import pytest
import typer

from endotransfer.cli.demo import demo_experiment, viewer_command
from endotransfer.cli.main import app


@pytest.mark.parametrize("program", [".venv/bin/endotransfer", "/usr/bin/pytest"])
def test_the_demo_ends_with_the_viewers_command(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr("sys.argv", [program])
    first, name, *words = shlex.split(viewer_command(Path("my demo"), 3))
    assert first == (program if program.endswith("endotransfer") else "endotransfer")
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    given = command.make_context(name, words).params
    assert given["runs"] == [Path("my demo/tag_transfer-default-seed3"), Path("my demo/source_only-default-seed3")]
    target = demo_experiment(Path("my demo/phantom"), "source_only", "default", 3).data.target[0].path
    assert target.is_absolute()  # config.yaml of a run is read from the run's own folder
    assert given["images"].resolve() == target
