"""The site builds without a warning, needs nothing from outside, and has a page for every command."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs_site.commands import all_commands
from tests.docs.pages import ROOT, text_of

FETCHED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="?(https?:[^"\s>]+)|<link[^>]*rel="?stylesheet[^>]*(https?:[^"\s>]+)'
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return out


def test_every_page_of_the_documentation_is_there(site: Path) -> None:
    docs = ROOT / "docs"
    pages = [path.relative_to(docs).with_suffix(".html") for path in (*docs.rglob("*.md"), *docs.rglob("*.ipynb"))]
    assert len(pages) > 15
    assert [str(page) for page in pages if not (site / page).is_file()] == []


def test_nothing_is_fetched_from_outside(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert [(page.name, found) for page in pages for found in FETCHED.findall(text_of(page))] == []
    styles = [text_of(style) for style in site.rglob("*.css")]
    assert styles and not any(re.search(r"url\(.?https?:|@import", style) for style in styles)


def test_every_command_has_its_page_with_all_its_options(site: Path) -> None:
    commands = all_commands()
    assert {"train", "data import"} <= {command.name for command in commands}
    for command in commands:
        page = text_of((site / command.page).with_suffix(".html"))
        named = [one.written.split()[0] for one in (*command.arguments, *command.options)]
        assert [name for name in named if name not in page] == [], command.name
        assert "\\|" not in page, command.name  # choices as they are typed


def test_a_link_to_a_file_outside_the_documentation_leads_to_its_page(site: Path) -> None:
    assert 'href="files/examples/endotransfer-minent/' in text_of(site / "adding-a-method.html")
    assert 'href="changelog.html"' in text_of(site / "results.html")
