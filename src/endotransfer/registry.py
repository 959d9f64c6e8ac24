"""Name -> thing, for methods, importers and backbones.  A wrong name answers with the nearest right one."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Generic, TypeVar

from endotransfer.errors import ConfigError, shown
from endotransfer.plugins import import_modules, load_plugins, origin_of

__all__ = ["Registry", "import_modules", "load_plugins", "nearest", "origin_of"]

T = TypeVar("T")
LONGEST_NAME = 120  # characters of a wrong name that are told and compared


def nearest(name: str, known: list[str]) -> str:
    """The tail of an error message: `; did you mean 'x'?` and the list of what exists."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}Known: {', '.join(sorted(known))}." if known else "there is nothing to set."


class Registry(Generic[T]):
    """An ordered mapping from names to things of one kind (`kind` is used in messages: 'method', 'importer').

    `group`: the entry points that add more of them; they are loaded when the registry is first asked for anything.
    """

    def __init__(self, kind: str, group: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        if name in self._things and self._things[name] is not thing:
            raise ConfigError(f"two {self.kind}s are called '{name}'; give one of them another name.")
        self._things[name] = thing
        return thing

    def get(self, name: object) -> T:
        known = self._all()
        if not isinstance(name, str) or name not in known:  # a YAML list is no name, nor can it be looked up
            called = name[:LONGEST_NAME] if isinstance(name, str) else shown(name)
            raise ConfigError(f"there is no {self.kind} called '{called}'; {nearest(called, list(known))}")
        return known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def names(self) -> list[str]:
        return sorted(self._all())

    def items(self) -> Iterator[tuple[str, T]]:
        return iter(sorted(self._all().items()))

    def _all(self) -> dict[str, T]:
        if self.group is not None:
            load_plugins(self.group)
        return self._things
