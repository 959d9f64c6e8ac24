"""What each folder of tests may take, in seconds of one core, and what it took: printed at the end of a run.

A folder over its budget does not fail the run, for a machine may be busy; it is marked, and then somebody makes the
tests quicker or the budget larger, and says why.
"""

from collections import defaultdict

import pytest

# Measured on two cores with both of them in use, and half as much again for luck.
BUDGETS = {
    "tests": 30,
    "tests/api": 60,
    "tests/browser": 340,
    "tests/cli": 90,
    "tests/compare": 90,
    "tests/config": 15,
    "tests/contract": 1200,
    "tests/data": 250,
    "tests/docs": 180,  # three notebooks and the site
    "tests/engine": 120,
    "tests/examples": 90,
    "tests/export": 75,
    "tests/familiarity": 30,
    "tests/losses": 60,
    "tests/methods": 15,
    "tests/metrics": 60,
    "tests/models": 150,
    "tests/predict": 80,
    "tests/pretrained": 60,  # three processes that talk to a hub
    "tests/pseudo_labels": 150,
    "tests/publish": 40,  # one graph is exported
    "tests/recipes": 15,
    "tests/report": 100,
    "tests/robust": 300,
    "tests/serve": 200,
    "tests/setup": 30,
    "tests/testing": 90,
}
_taken: defaultdict[str, float] = defaultdict(float)


def folder_of(test: str) -> str:
    """The innermost folder with a budget that a test belongs to: `tests/serve/test_a.py::b` -> `tests/serve`."""
    inside = [folder for folder in BUDGETS if test.startswith(f"{folder}/")]
    return max(inside, key=len, default="elsewhere")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _taken[folder_of(report.nodeid)] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("seconds by folder, and their budget")
    for folder, seconds in sorted(_taken.items()):
        budget = BUDGETS.get(folder, 0)
        terminalreporter.write_line(f"{folder:22} {seconds:6.0f} of {budget}{' OVER' if seconds > budget else ''}")
