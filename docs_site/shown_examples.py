"""Where the documentation shows a command: its examples, which tests parse, so that they can be given as they stand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MOST = 6  # examples on a page


@dataclass(frozen=True)
class Example:
    line: str
    page: str  # relative to docs/
    title: str


def examples_of(name: str, docs: Path) -> list[Example]:
    """Different uses of the command `name` in the pages of `docs`, a few of them."""
    found: dict[str, Example] = {}
    for example in _shown(docs):
        if re.match(rf"endotransfer {re.escape(name)}(?!\S)", example.line):
            found.setdefault(example.line.partition("#")[0].strip(), example)
    return list(found.values())[:_MOST]


def _shown(docs: Path) -> Iterator[Example]:
    for path in sorted(docs.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = _TITLE.search(text)
        for block in _SHELL.findall(text):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                yield Example(re.sub(r"\s+#", "  #", line.strip()), path.name, title[1] if title else path.stem)
