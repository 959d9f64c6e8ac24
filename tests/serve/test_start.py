"""The command: where it listens, what it prints, what it refuses."""

import threading
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.serve import start


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What would have been served and opened."""
    seen: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    for name in ("run", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("uvicorn.run", lambda app, **options: seen.update(options))
    monkeypatch.setattr("endotransfer.serve.app.create_app", lambda *given, **more: seen.update(given=given, **more))
    monkeypatch.setattr("webbrowser.open", lambda address: seen.setdefault("opened", address))
    monkeypatch.setattr(threading, "Timer", lambda seconds, work, given: _At(work, given))
    return seen


class _At:
    daemon = False

    def __init__(self, work: Any, given: list[str]) -> None:
        self.start = lambda: work(*given)


def test_the_command_serves_on_this_machine_and_opens_the_page(served: dict[str, Any]) -> None:
    result = CliRunner().invoke(app, ["serve", "run", "other", "--images", "folder"])
    assert result.exit_code == 0, result.output
    assert served["given"] == ([Path("run"), Path("other")], Path("folder"))
    assert (served["host"], served["port"], served["token"]) == ("127.0.0.1", 8731, None)
    assert served["opened"] == "http://127.0.0.1:8731/"
    assert "not a medical device" in result.output


def test_a_model_is_served_by_its_name(served: dict[str, Any]) -> None:
    result = CliRunner().invoke(app, ["serve", "polyp", "--no-browser"])
    assert result.exit_code == 0, result.output
    ((place,), images) = served["given"]
    assert place.name == "polyp" and (place / "weights.safetensors").is_file() and images is None
    assert isinstance(CliRunner().invoke(app, ["serve", "polpy"]).exception, CheckpointError)


def test_the_address_with_its_token_is_printed_and_no_page_opened(served: dict[str, Any]) -> None:
    options = ["--host", "0.0.0.0", "--port", "9000", "--no-browser"]
    result = CliRunner().invoke(app, ["serve", "run", *options], env={"ENDOTRANSFER_TOKEN": "sixteen+letters&"})
    assert "http://localhost:9000/?token=sixteen%2Bletters%26" in result.output
    assert "opened" not in served


def test_an_open_address_without_a_token_is_refused(served: dict[str, Any]) -> None:
    result = CliRunner().invoke(app, ["serve", "run", "--host", "0.0.0.0"])
    assert isinstance(result.exception, ConfigError)
    assert "given" not in served


def test_an_address_of_six_groups_is_bracketed(served: dict[str, Any]) -> None:
    console = Console(record=True)
    start.serve([Path("run")], None, host="::1", browser=False, console=console)
    assert "http://[::1]:8731/" in console.export_text()


def test_a_missing_package_is_named_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ConfigError, match=r"uvicorn.*endotransfer\[serve\]"):
        start.serve([Path("run")], None)
