"""Fixtures for all tests: the tiny tasks of `endotransfer.testing`."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.budgets import pytest_runtest_logreport, pytest_terminal_summary  # noqa: F401  (pytest finds them here)

pytest_plugins = ["endotransfer.testing.fixtures"]

# A busy machine makes one example in thousands slow; budgets (tests/budgets.py) watch the time instead.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session", autouse=True)
def _alone(single_thread_and_own_cache: None) -> None:
    """For every test, whatever fixtures it asks for."""


@pytest.fixture(scope="session")
def real_weights() -> Callable[[str], Path]:
    """`real_weights(name)`: the path of a file of real ImageNet weights, or a skipped test."""
    shared = Path(os.environ.get("ENDOTRANSFER_SHARED", Path(__file__).parents[2] / "shared"))

    def find(name: str) -> Path:
        path = shared / "weights" / name
        if not path.is_file():
            pytest.skip(f"no {name} (set ENDOTRANSFER_SHARED to the folder that holds weights/)")
        return path

    return find
