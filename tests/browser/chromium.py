"""Chromium without a window: the machine's own, or the one that Playwright fetched."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@contextmanager
def launch() -> Iterator[Any]:
    """A browser; where there is none, the test is skipped with the reason."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    named = os.environ.get("ENDOTRANSFER_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with playwright.sync_playwright() as tools:
        found = named or tools.chromium.executable_path
        if not Path(found).exists():
            pytest.skip("no chromium here; `make install` with a network fetches one, or set ENDOTRANSFER_CHROMIUM")
        chromium = tools.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()
