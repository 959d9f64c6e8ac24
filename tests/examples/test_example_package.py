"""A method in a package of its own is installed with pip, keeps the contract, and its model loads where it is there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "endotransfer-minent"
PREDICT = """
import sys
import numpy as np
import endotransfer
from endotransfer.errors import EndotransferError
try:
    print(endotransfer.load(sys.argv[1]).predict(np.zeros((40, 40, 3), np.uint8)).mask.shape)
except EndotransferError as reason:
    print(reason)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package as pip installs it; nothing is fetched, and our environment stays as it is."""
    root = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, root / "source")  # setuptools builds inside the folder
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target", "there"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "./source"], cwd=root, check=True)
    return root


def run(where: Path, *command: str | Path, with_package: bool = True) -> str:
    """What a Python process says, in which the package is installed or not."""
    paths = [str(ROOT / "src"), *([str(where / "there")] if with_package else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=where, env=environment, timeout=900
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_a_package_is_found_keeps_the_contract_and_its_model_needs_it(installed: Path) -> None:
    assert "minent_small" in run(installed, "-m", "endotransfer.cli.main", "methods")
    assert "minent_small" not in run(installed, "-m", "endotransfer.cli.main", "methods", with_package=False)
    tests = ["source/tests", "-q", "-n0", "-m", "not extended", "--basetemp", "tests", "-c", "/dev/null"]
    assert "passed" in run(installed, "-m", "pytest", *tests, "-o", "tmp_path_retention_policy=all")
    model = next(installed.glob("tests/runs*/run/model"))
    assert run(installed, "-c", PREDICT, model).strip() == "(40, 40)"
    told = run(installed, "-c", PREDICT, model, with_package=False)
    assert "comes from the package 'endotransfer-minent', which is not installed; install it" in told
