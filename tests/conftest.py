"""Fixtures for all tests: the tiny tasks of `endotransfer.testing`."""

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
