"""Links out of docs/ to other files of the repository: on a code host they work as they stand, and the site gets pages
of these files, to which its links lead."""

import re
from pathlib import Path, PurePosixPath

LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_TOP = {name: name.lower() for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}  # which the navigation names
_CODE = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json"}


def linked_files(root: Path, docs: Path) -> dict[str, Path]:
    """Path in the site -> file, for every file outside docs/ that a page links to, and those it links to itself."""
    pages: dict[str, Path] = {}
    ahead = [*(root / name for name in _TOP), *_linked_outside(root, docs)]
    while ahead:
        file = ahead.pop()
        place = place_of(file.relative_to(root))
        if place not in pages:
            pages[place] = file
            ahead += _links(file, root)
    return pages


def place_of(file: Path) -> str:
    """Where a file is in the site: `docs/a.md` -> `a.md`, `examples/a.py` -> `files/examples/a.py.md`."""
    name = file.as_posix()
    if name.startswith("docs/"):
        return re.sub(r"\.ipynb$", ".md", name.removeprefix("docs/"))
    return _TOP.get(name, f"files/{name}" if name.endswith(".md") else f"files/{name}.md")


def with_site_links(markdown: str, page: str, origin: Path, root: Path) -> str:
    """`markdown` of the file `origin`, with links that hold from `page` of the site."""

    def changed(found: re.Match[str]) -> str:
        start, link, anchor, end = found.groups()
        if "://" in link or link.startswith("mailto:"):
            return found[0]
        goal = (origin.parent / link).resolve()
        if not goal.is_file() or not goal.is_relative_to(root):
            return found[0]  # the strict build names it
        return f"{start}{_relative(place_of(goal.relative_to(root)), page)}{anchor or ''}{end}"

    return LINK.sub(changed, markdown)


def _relative(place: str, page: str) -> str:
    up = len(PurePosixPath(page).parent.parts)
    return "../" * up + place


def _linked_outside(root: Path, docs: Path) -> list[Path]:
    found = [link for page in sorted(docs.rglob("*.md")) for link in _links(page, root)]
    return [file for file in found if not file.is_relative_to(docs)]


def _links(page: Path, root: Path) -> list[Path]:
    """Files that a page links to, of the repository but not of docs/."""
    if page.suffix != ".md":
        return []
    links = [(page.parent / link).resolve() for _, link, _, _ in LINK.findall(page.read_text(encoding="utf-8"))]
    inside = [file for file in links if file.is_file() and file.is_relative_to(root)]
    return [file for file in inside if not file.is_relative_to(root / "docs")]


def as_page(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return text
    return f"# {file.name}\n\n```{_CODE.get(file.suffix, 'text')}\n{text.rstrip()}\n```\n"
