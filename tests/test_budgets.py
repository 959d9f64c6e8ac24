"""Every folder of tests has a budget, and a test counts against the innermost one."""

from pathlib import Path

import pytest

from tests.budgets import BUDGETS, folder_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("test", "folder"),
    [
        ("tests/serve/test_sample.py::test_a", "tests/serve"),
        ("tests/data/read/test_decode.py::test_a[0]", "tests/data"),
        ("tests/test_io.py::test_a", "tests"),
        ("perf/test_a.py::test_a", "elsewhere"),
    ],
)
def test_a_test_counts_against_the_innermost_folder(test: str, folder: str) -> None:
    assert folder_of(test) == folder


def test_every_folder_has_a_budget_and_every_budget_a_folder() -> None:
    folders = {path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py")}
    top = {"/".join(path.parts[: min(2, len(path.parts) - 1)]) for path in folders}
    assert top == set(BUDGETS)
