"""The everyday run reaches every screen, and each test the same one in every run."""

import re
from collections import Counter
from pathlib import Path

from tests.browser.screens import SCREENS, screen_of


def test_every_screen_has_its_tests() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_viewer*.py")]
    names = [name for source in sources for name in re.findall(r"^def (test_\w+)\(", source, re.MULTILINE)]
    counts = Counter(screen_of(name, SCREENS) for name in names)
    assert all(counts[screen] >= 3 for screen in SCREENS), counts
    assert str(screen_of("test_zoom_and_pan", SCREENS)) == "390-dark"
