"""Every folder of tests has a budget, and a test counts against the innermost one."""

from pathlib import Path

import pytest

from tests.budgets import BUDGETS, folder_of

TESTS = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("test", "folder"),
    [
        ("tests/unit/serve/test_sample.py::test_a", "tests/unit/serve"),
        ("tests/unit/test_config.py::test_a", "tests/unit"),
        ("tests/unit/metrics/test_pranet.py::test_a[0]", "tests/unit"),
        ("tests/units/test_a.py::test_a", "elsewhere"),
    ],
)
def test_a_test_counts_against_the_innermost_folder(test: str, folder: str) -> None:
    assert folder_of(test) == folder


def test_no_test_is_without_a_budget() -> None:
    files = [path.relative_to(TESTS.parent).as_posix() for path in TESTS.rglob("test_*.py")]
    assert files and not [path for path in files if folder_of(path) == "elsewhere"]
    assert all((TESTS.parent / folder).is_dir() for folder in BUDGETS)
