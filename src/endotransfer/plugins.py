"""Methods, importers and backbones from outside: installed plug-ins, and modules named with `--import`.

A plug-in is a package with an entry point in one of `GROUPS`; importing what the entry point names is enough, since a
subclass of `Method` and a function under `@importer` register themselves, and a backbone registers itself with timm
(`@timm.models.register_model`).

`--import` keeps its modules in the environment (`ENDOTRANSFER_IMPORT`), so that every child process imports them too.
Neither an experiment nor a model folder does: reading a file must never run code.  To resume a run or to load a model
whose method is no installed plug-in, give `--import` again.
"""

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import RLock

from endotransfer.errors import ConfigError

GROUPS = (
    "endotransfer.methods", "endotransfer.networks", "endotransfer.importers", "endotransfer.backbones",
    "endotransfer.figures",
)  # fmt: skip
VARIABLE = "ENDOTRANSFER_IMPORT"  # modules and files, separated like the folders of PATH
_LOCK = RLock()  # a plug-in that looks something up while it is imported must not wait for itself
_loaded: set[str] = set()  # groups


def load_plugins(*groups: str) -> None:
    """Import the modules of `ENDOTRANSFER_IMPORT` and every installed plug-in of `groups` (none given: of all)."""
    with _LOCK:
        import_modules(asked_for())
        for group in groups or GROUPS:
            if group not in _loaded:
                _loaded.add(group)
                for entry in entry_points(group=group):
                    _load(entry)


def import_modules(names: Iterable[str]) -> None:
    """Import modules, or files that end in .py, here and in every process that is started from here."""
    for name in names:
        where = str(Path(name).expanduser().resolve()) if name.endswith(".py") else name
        _import(where)
        if where not in asked_for():
            os.environ[VARIABLE] = os.pathsep.join([*asked_for(), where])


def asked_for() -> list[str]:
    """The modules and files that `--import` named."""
    return [name for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]


def has_plugins(group: str) -> bool:
    """Whether anything from outside may be registered: only then is a registry worth a slow import."""
    return bool(asked_for()) or bool(entry_points(group=group))


def origin_of(thing: type) -> str:
    """What `--import` needs to find a class again: its module, or the file it was imported from."""
    files = {Path(name).stem: name for name in asked_for() if name.endswith(".py")}
    return files.get(thing.__module__, thing.__module__)


def _load(entry: EntryPoint) -> None:
    """A broken plug-in is told of and left out; the others are not its victims."""
    try:
        entry.load()
    except Exception as reason:
        owner = entry.dist.name if entry.dist else entry.value
        print(f"note: the plug-in {owner} is left out, since {entry.value} fails: {_said(reason)}", file=sys.stderr)


def _import(where: str) -> None:
    try:
        _import_file(Path(where)) if where.endswith(".py") else import_module(where)
    except ConfigError:
        raise
    except Exception as reason:
        file = Path(f"{where}.py")
        hint = f"write --import {file}" if file.is_file() else "check the name, or give the path of a .py file"
        raise ConfigError(f"cannot import {where} ({_said(reason)}); {hint}.") from reason


def _import_file(path: Path) -> None:
    """Import a file under its own name, as if its folder were on the path."""
    there = sys.modules.get(path.stem)
    if there is not None:
        if getattr(there, "__file__", None) != str(path):
            raise ConfigError(f"cannot import {path}: a module called {path.stem} is loaded already; rename the file.")
        return
    if not path.is_file():
        raise ConfigError(f"cannot import {path}: there is no such file; check the path.")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # a name in .py always has a loader
    module = sys.modules[path.stem] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise


def _said(reason: Exception) -> str:
    return " ".join(f"{type(reason).__name__}: {reason}".split())
