"""A method in a file of the user's own: trained, resumed, and compared by processes of a pool."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from endotransfer.config import Experiment

METHOD = """
from endotransfer.methods.source_only import SourceOnly

class OutsideMethod(SourceOnly):
    name = "outside_method"
    summary = "the baseline under another name"
"""


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A new process: nothing that this one has imported helps it."""
    return subprocess.run(
        [sys.executable, "-m", "endotransfer", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture
def study(make_experiment: Callable[..., Experiment], tmp_path: Path) -> Path:
    """A folder with the method's file, and a suite of it that is an experiment too."""
    (tmp_path / "outside.py").write_text(METHOD)
    raw = make_experiment("tagged", "source_only", epochs=1, steps_per_epoch=1).model_dump(mode="json")
    raw |= {"method": "outside_method", "systems": ["outside_method", "source_only"]}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(raw))
    return tmp_path


def test_without_its_file_a_method_is_unknown_with_it_it_trains_and_resumes(study: Path) -> None:
    arguments = ("train", study / "suite.yaml", "--out", study / "run")
    refused = command(*arguments)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: there is no method called 'outside_method'; ")
    trained = command(*arguments, "--import", study / "outside.py")
    assert trained.returncode == 0, trained.stderr
    resumed = command("--import", study / "outside.py", *arguments, "--resume")
    assert "is finished already" in resumed.stdout


@pytest.mark.slow
def test_every_process_of_a_benchmark_imports_it(study: Path) -> None:
    done = command(
        "benchmark", study / "suite.yaml", "--out", study / "table", "--jobs", "2", "--import", study / "outside.py"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (study / "table" / "table.csv").read_text()
    assert "outside_method" in rows
    assert "source_only" in rows
