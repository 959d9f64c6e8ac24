"""The lists: methods, recipes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from endotransfer import plugins
from endotransfer.cli.main import app
from endotransfer.cli.method_list import MethodLine, list_methods, registered_methods, written_methods
from endotransfer.methods import METHODS
from endotransfer.recipes import recipe_names, recipe_summaries

OUTSIDE = """
from endotransfer.methods import Method
class Outside(Method):
    name = "outside_method"
    summary = "a method of another package"
"""


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A method that a test registers is gone after it."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(METHODS, "_things", dict(METHODS._things))
    yield
    sys.modules.pop("outside", None)


def test_what_is_read_from_the_files_is_what_is_registered() -> None:
    assert list_methods() == registered_methods()


def test_a_class_without_a_name_is_no_method_and_a_preset_may_be_annotated() -> None:
    text = (
        "class A:\n  name = 'a'\nclass B:\n  name: str = 'b'\n  summary = 'B'\n  presets: object = {'x': {}, 'y': 1}\n"
    )
    assert list(written_methods(text)) == [MethodLine("b", "B", ("x", "y"))]


def test_presets_are_inherited_from_a_class_in_another_file() -> None:
    first = "class B(Method):\n  name = 'b'\n  summary = 'B'\n  presets = {'x': {}}\n"
    second = "class C(B):\n  name = 'c'\n  summary = 'C'\n"
    assert list(written_methods(second, first)) == [MethodLine("c", "C", ("x",)), MethodLine("b", "B", ("x",))]


@pytest.mark.usefixtures("_forgotten")
@pytest.mark.parametrize("order", [("--import", "{}", "methods"), ("methods", "--import", "{}")])
def test_an_imported_method_is_listed(tmp_path: Path, order: tuple[str, ...]) -> None:
    path = tmp_path / "outside.py"
    path.write_text(OUTSIDE)
    lines = said(*(part.format(path) for part in order)).splitlines()
    assert "outside_method       a method of another package" in lines
    assert len(lines) == len(METHODS.names())


def test_every_recipe_is_listed_with_its_first_line() -> None:
    lines = said("recipes").splitlines()
    assert [line.split()[0] for line in lines] == recipe_names()
    assert all(summary and not summary.startswith("#") for summary in recipe_summaries().values())
