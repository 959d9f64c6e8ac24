"""Examples in Python use what is public, and the worked method trains."""

import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import endotransfer
from endotransfer.config import Experiment
from endotransfer.engine.run import train
from endotransfer.methods import METHODS, Method
from tests.docs.pages import README, ROOT, blocks, text_of

PYTHON_PAGES = [README, ROOT / "docs" / "python.md"]


@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: page.name)
def test_python_examples_use_the_public_names(page: Path) -> None:
    nodes = [node for block in blocks(page, "python") for node in ast.walk(ast.parse(block))]
    used = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    names = {node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == "endotransfer"}
    assert names
    assert names <= {*endotransfer.__all__}


def test_every_public_function_is_in_the_page_on_python() -> None:
    page = text_of(ROOT / "docs" / "python.md")
    functions = [name for name in endotransfer.__all__ if inspect.isfunction(getattr(endotransfer, name))]
    assert [name for name in functions if f"`{name}(" not in page] == []


def test_every_member_of_a_method_is_in_the_page_on_methods() -> None:
    page = text_of(ROOT / "docs" / "adding-a-method.md")
    members = {*vars(Method), *Method.__annotations__} - {"segmenter", "config"}
    missing = [name for name in sorted(members) if not name.startswith("_") and not re.search(rf"`{name}[`(]", page)]
    assert missing == []


def test_the_worked_method_registers_and_trains(
    make_experiment: Callable[..., Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = blocks(ROOT / "docs" / "adding-a-method.md", "python")[0]
    assert len(code.splitlines()) < 60
    path = tmp_path / "minent.py"
    path.write_text(code)
    others = {name: method for name, method in METHODS.items() if name != "minent"}
    monkeypatch.setattr(METHODS, "_things", others)  # what registers here is forgotten afterwards
    spec = importlib.util.spec_from_file_location("minent", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "minent", module)
    spec.loader.exec_module(module)
    assert issubclass(METHODS.get("minent"), Method)
    results = train(make_experiment("tagged", "minent", epochs=1, steps_per_epoch=2), tmp_path / "run")
    assert results is not None
    assert "term/entropy_target" in (tmp_path / "run" / "metrics.csv").read_text()
