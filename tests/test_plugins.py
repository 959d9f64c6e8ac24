"""What comes from outside: installed plug-ins and `--import`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from endotransfer import plugins
from endotransfer.errors import ConfigError
from endotransfer.plugins import asked_for, has_plugins, import_modules, load_plugins, origin_of
from endotransfer.registry import Registry
from tests.plugin_package import install

GROUP = "endotransfer.fruit"
FRUIT: Registry[str] = Registry("fruit", GROUP)
ADD = "from tests.test_plugins import FRUIT\nFRUIT.add('{0}', '{0}')\nclass Thing: pass\n"


@pytest.fixture(autouse=True)
def _untouched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(FRUIT, "_things", {})
    before = set(sys.modules)
    monkeypatch.setitem(sys.modules, "tests.test_plugins", sys.modules[__name__])
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_an_installed_plug_in_is_loaded_when_its_registry_is_asked(site: Path) -> None:
    assert not has_plugins(GROUP)
    install(site, "pear_pack", ADD.format("pear"), f"[{GROUP}]\npear = pear_pack\n")
    assert has_plugins(GROUP)
    assert "pear" in FRUIT
    assert FRUIT.get("pear") == "pear"
    assert origin_of(sys.modules["pear_pack"].Thing) == "pear_pack"


def test_a_broken_plug_in_is_named_and_the_others_work(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(site, "bad_pack", "import nothing_like_it\n", f"[{GROUP}]\nbad = bad_pack\n")
    install(site, "pear_pack", ADD.format("pear"), f"[{GROUP}]\npear = pear_pack\n")
    install(site, "twin_pack", ADD.format("plum") + "FRUIT.add('plum', 'other')\n", f"[{GROUP}]\ntwin = twin_pack\n")
    assert FRUIT.names() == ["pear", "plum"]
    FRUIT.names()
    said = capsys.readouterr().err
    assert said.count("\n") == 2
    assert "the plug-in bad_pack is left out, since bad_pack fails: ModuleNotFoundError: No module named 'noth" in said
    assert "the plug-in twin_pack is left out, since twin_pack fails: ConfigError: two fruits are called 'plum'" in said


def test_a_file_is_imported_here_and_in_child_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plum_file.py"
    path.write_text(ADD.format("plum"))
    monkeypatch.chdir(tmp_path)
    import_modules(["plum_file.py"])
    assert FRUIT.names() == ["plum"]
    assert asked_for() == [str(path)]
    assert origin_of(sys.modules["plum_file"].Thing) == str(path)
    import_modules(["./plum_file.py"])  # the same again
    assert asked_for() == [str(path)]


def test_what_the_environment_names_is_imported_first(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site / "kiwi_module.py").write_text(ADD.format("kiwi"))
    (site / "lime_module.py").write_text(ADD.format("lime"))
    monkeypatch.setenv(plugins.VARIABLE, os.pathsep.join(["kiwi_module", str(site / "lime_module.py")]))
    load_plugins()
    assert FRUIT.names() == ["kiwi", "lime"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_module", r"cannot import no_such_module \(ModuleNotFoundError: .*\); check the name, or give the"),
        ("beside", r"cannot import beside .*; write --import beside\.py\."),
        ("missing.py", r"cannot import .*missing\.py: there is no such file"),
        ("broken.py", r"cannot import .*broken\.py \(ZeroDivisionError: division by zero\)"),
        ("json.py", r"a module called json is loaded already; rename the file"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "beside.py").write_text("")
    with pytest.raises(ConfigError, match=words):
        import_modules([name])
    assert asked_for() == []
    assert "broken" not in sys.modules
