"""What is asked for often answers at once: nothing heavy is imported for it."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "lightning", "timm", "matplotlib", "scipy", "skimage", "sklearn")


def imported(*command: str) -> set[str]:
    """The top-level packages that a new Python imports to carry out `command`."""
    done = subprocess.run([sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("command", [["--help"], ["methods"], ["datasets"], ["recipes"], ["train", "--help"]])
def test_lists_and_help_need_nothing_heavy(command: list[str]) -> None:
    assert imported("-m", "endotransfer", *command).isdisjoint(HEAVY)


def test_the_package_itself_imports_next_to_nothing() -> None:
    assert imported("-c", "import endotransfer").isdisjoint({*HEAVY, "numpy", "pydantic", "yaml", "rich", "typer"})


@pytest.mark.parametrize("name", ["Callback", "Experiment", "Prediction", "train"])
def test_naming_something_needs_nothing_heavy(name: str) -> None:
    assert imported("-c", f"from endotransfer import {name}").isdisjoint(HEAVY)
