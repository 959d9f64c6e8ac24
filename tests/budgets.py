"""What each folder of tests may take, in seconds of one core, and what it took: printed at the end of a run.

A folder over its budget does not fail the run, for a machine may be busy; it is marked, and then somebody makes the
tests quicker or the budget larger, and says why.
"""

from collections import Counter
from typing import Any

# Measured on two cores with both of them in use, and half as much again for luck.
BUDGETS = {
    "tests/browser": 180,
    "tests/contract": 1500,
    "tests/robust": 300,
    "tests/unit": 600,
    "tests/unit/serve": 150,
    "tests/unit/data": 250,
    "tests/unit/transfer": 150,
    "tests/unit/models": 150,
}
_taken: Counter[str] = Counter()


def folder_of(test: str) -> str:
    """The folder with a budget that a test belongs to, the innermost one: `tests/unit/serve/test_a.py::b`."""
    inside = [folder for folder in BUDGETS if test.startswith(f"{folder}/")]
    return max(inside, key=len, default="elsewhere")


def pytest_runtest_logreport(report: Any) -> None:
    _taken[folder_of(report.nodeid)] += report.duration


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section("seconds by folder, and their budget")
    for folder, seconds in sorted(_taken.items()):
        budget = BUDGETS.get(folder, 0)
        terminalreporter.write_line(f"{folder:22} {seconds:6.0f} of {budget}{' OVER' if seconds > budget else ''}")
