"""The screens that the viewer is used on: one a test in `make test`, all of them in `make test-all`."""

from typing import Any, NamedTuple
from zlib import crc32

import pytest


class Screen(NamedTuple):
    width: int
    height: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}"

    @property
    def touch(self) -> bool:
        return self.width <= 1024

    @property
    def context(self) -> dict[str, Any]:
        """What a browser's context is told.  The small one is a phone, held upright, the middle one a tablet."""
        return {
            "viewport": {"width": self.width, "height": self.height},
            "color_scheme": self.scheme,
            "has_touch": self.touch,
        }


SIZES = [(1440, 900), (1024, 768), (390, 844)]
SCREENS = [Screen(*size, scheme) for size in SIZES for scheme in ("light", "dark")]


def screen_of(test: str, screens: list[Screen]) -> Screen:
    """The screen of a test's name: the same one in every run, and all of them over many names."""
    return screens[crc32(test.encode()) % len(screens)]


def for_each_screen(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a screen gets every one of them; all but its own are `extended`.

    The mark `every_screen` keeps them all, `by_touch` those that feel fingers.
    """
    if "screen" not in metafunc.fixturenames:
        return
    marked = {mark.name for mark in metafunc.definition.iter_markers()}
    screens = [screen for screen in SCREENS if screen.touch or "by_touch" not in marked]
    own = screens if "every_screen" in marked else [screen_of(metafunc.function.__name__, screens)]
    chosen = [pytest.param(one, marks=() if one in own else (pytest.mark.extended,)) for one in screens]
    metafunc.parametrize("screen", chosen, indirect=True, ids=map(str, screens))
