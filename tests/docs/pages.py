"""The pages of the documentation, and ways to look into them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from _pytest.mark import ParameterSet
from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "endotransfer"
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
DOCS = ROOT / "docs"
GUIDE = DOCS / "guide.md"
FORMATS = DOCS / "formats.md"
PAGES = [README, CONTRIBUTING, *sorted(DOCS.glob("*.md")), *sorted((DOCS / "results").glob("*.md"))]
NOTES = [ROOT / "CHANGELOG.md", *sorted((DOCS / "research").glob("*.md"))]  # what was, in the words of its day
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its code."""
    return FENCED.sub("", text_of(page))


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in FENCED.findall(text_of(page)) if kind == language]


def named(things: Iterator[tuple[Path, str]]) -> list[ParameterSet]:
    """Parameters of a test, each with a name that says which page is wrong."""
    return [pytest.param(page, thing, id=f"{page.name}: {thing.splitlines()[0]}") for page, thing in things]


def section(title: str, page: Path = FORMATS) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text_of(page), re.MULTILINE | re.DOTALL)
    assert found, f"{page.name} has no section {title}"
    return found[1]


def table(title: str) -> dict[str, list[str]]:
    """The rows of a section's table in formats.md: key -> the other cells."""
    rows = [line.strip("| \n").split(" | ") for line in section(title).splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): cells[1:] for cells in rows}


def spelt(value: object) -> str:
    """A default as the tables write it: what one would write in an experiment."""
    if isinstance(value, BaseModel):
        return "section"
    text = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True)
    plain = text.removesuffix("...\n").strip()  # the mark that ends a bare value
    return f"`{plain}`"
