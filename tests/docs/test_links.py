"""Links, pictures and paths in the documentation lead somewhere."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import CONTRIBUTING, NOTES, PAGES, README, ROOT, SOURCE, blocks, named, prose, text_of

NAMED_PATH = re.compile(r"`([\w.\-]+(?:/[\w.\-]+)+/?)`")  # two parts at least: `a/b`
FILE = re.compile(r"`((?:[\w\-]+/)+[\w\-]+\.py|docs/[\w\-/]+\.json)`")
HOP = re.compile(r"`([\w/]+\.py):(\w+(?:\.\w+)?)`")


def anchor(heading: str) -> str:
    """The name that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def links() -> Iterator[tuple[Path, str]]:
    for page in (*PAGES, *NOTES):
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if "://" not in link:
                yield page, link


@pytest.mark.parametrize(("page", "link"), named(links()))
def test_a_link_leads_to_a_file_and_to_a_heading_of_it(page: Path, link: str) -> None:
    file, _, place = link.partition("#")
    goal = page.parent / file if file else page
    assert goal.exists()
    if place:
        assert place in {anchor(heading) for heading in re.findall(r"^#+ (.+)$", prose(goal), re.MULTILINE)}


def source_files() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, path) for path in sorted({*FILE.findall(prose(page))}))


@pytest.mark.parametrize(("page", "path"), named(source_files()))
def test_a_named_file_exists(page: Path, path: str) -> None:
    assert any((start / path).exists() for start in (ROOT, SOURCE))


def test_every_path_in_contributing_exists() -> None:
    names = {*NAMED_PATH.findall(prose(CONTRIBUTING))}
    assert names
    assert [name for name in sorted(names) if not any((start / name).exists() for start in (ROOT, SOURCE))] == []


def test_the_tree_in_contributing_is_the_tree() -> None:
    tree = next(block for block in blocks(CONTRIBUTING, "") if block.startswith("src/endotransfer/"))
    shown = {*re.findall(r"^  (\w+(?:/|\.py))", tree.split("tests/")[0], re.MULTILINE)}
    packages = {f"{path.parent.name}/" for path in SOURCE.glob("*/__init__.py")}
    assert packages <= shown
    assert [name for name in sorted(shown) if not (SOURCE / name).exists()] == []


def test_the_layers_in_contributing_are_those_that_are_enforced() -> None:
    settings = tomllib.loads(text_of(ROOT / "pyproject.toml"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    enforced = [layer.replace("endotransfer.", "") for layer in contract["layers"]]
    shown = next(block for block in blocks(CONTRIBUTING, "") if block.startswith(enforced[0]))
    assert shown.splitlines() == enforced


def test_the_path_of_a_target_image_has_at_most_eight_hops_and_each_exists() -> None:
    hops = HOP.findall(text_of(CONTRIBUTING))
    assert 3 <= len(hops) <= 8
    for file, name in hops:
        code = text_of(SOURCE / file)
        for part in name.split("."):
            assert re.search(rf"(?:def|class) {part}\b", code), f"{file} has no {part}"


def test_the_readme_is_short_and_has_one_small_picture() -> None:
    assert len(text_of(README).splitlines()) <= 120
    (picture,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text_of(README))
    assert (ROOT / picture).stat().st_size < 200_000
