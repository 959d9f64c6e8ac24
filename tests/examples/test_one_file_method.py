"""The worked example of docs/adding-a-method.md: one file in methods/, and the method is there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks


@pytest.fixture
def with_one_more_file(tmp_path: Path) -> Path:
    """A copy of the source with the worked example in it."""
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    code = blocks(ROOT / "docs" / "adding-a-method.md", "python")[0]
    (source / "endotransfer" / "methods" / "minent.py").write_text(code)
    return source


def test_one_file_is_listed_and_tested(with_one_more_file: Path) -> None:
    def said(*command: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(with_one_more_file)}
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT, env=environment)
        return done.stdout

    (line,) = [line for line in said("-m", "endotransfer", "methods").splitlines() if line.startswith("minent ")]
    assert "[presets: default, strong]" in line
    collect = ("-m", "pytest", "--collect-only", "-q", "-n0", "tests/contract/test_methods.py", "-k", "minent")
    tests = said(*collect, "-m", "")  # the extended ones too
    assert tests.count("tagged-minent-default") > 10 and tests.count("tagged-minent-strong") > 10
