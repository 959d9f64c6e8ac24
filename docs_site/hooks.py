"""What MkDocs calls while it builds the site (mkdocs.yml names this file)."""

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "src")) if path not in sys.path]  # where `mkdocs` does not look

from docs_site.command_pages import command_pages  # noqa: E402
from docs_site.notebook_pages import notebook_page  # noqa: E402
from docs_site.repository_files import as_page, linked_files, place_of, with_site_links  # noqa: E402

DOCS = ROOT / "docs"
_origins: dict[str, Path] = {}  # pages of the site that are files elsewhere


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made: of commands, notebooks, and of files outside docs/."""
    commands = command_pages(DOCS)
    _origins.clear()
    others = linked_files(ROOT, DOCS)
    _origins.update({place_of(path.relative_to(ROOT)): path for path in DOCS.rglob("*.md")} | others)
    made: dict[str, str | bytes] = {**commands, **{place: as_page(file) for place, file in others.items()}}
    for notebook in sorted((DOCS / "tutorials").glob("*.ipynb")):
        page, pictures = notebook_page(notebook)
        made[f"tutorials/{notebook.stem}.md"] = page
        _origins[f"tutorials/{notebook.stem}.md"] = notebook
        made |= {f"tutorials/{name}": content for name, content in pictures.items()}
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    config.nav = [_with_commands(entry, list(commands)) for entry in config.nav]
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    origin = _origins.get(page.file.src_uri)
    return with_site_links(markdown, page.file.src_uri, origin, ROOT) if origin else markdown


def _with_commands(entry: dict[str, Any], pages: list[str]) -> dict[str, Any]:
    """`Commands: []` of the navigation, filled."""
    return {"Commands": pages} if "Commands" in entry else entry
