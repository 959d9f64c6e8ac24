"""The HTML of a report: escaping, embedding, and a skeleton that asks nothing of the outside world."""

import base64
import hashlib
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from endotransfer import __version__
from endotransfer.disclaimer import DISCLAIMER


class Html(str):
    """Text that is HTML already.  Everything else is escaped by `text` before it enters a page."""

    __slots__ = ()


@dataclass(frozen=True)
class Section:
    """A part of the page.  `anchor` is ours, `title` may be anything."""

    anchor: str
    title: str
    body: Html


def text(value: object) -> Html:
    """Anything as text of a page: no name that a user chose can become markup."""
    return value if isinstance(value, Html) else Html(escape(str(value), quote=True))


def breakable(value: object) -> Html:
    """Text that may take a new line within a long name: after an underscore or a slash."""
    return Html(text(value).replace("_", "_<wbr>").replace("/", "/<wbr>"))


def join(*parts: object) -> Html:
    return Html("\n".join(text(part) for part in parts))


def tag(element: str, /, *content: object, **attributes: object) -> Html:
    """`<element attribute="value">content</element>`; `class_` is class, `data_x` is data-x, None is left out."""
    spelled = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    inside = "".join(f' {key}="{text(value)}"' for key, value in spelled.items())
    return Html(f"<{element}{inside}>" + "".join(text(part) for part in content) + f"</{element}>")


def void(element: str, /, **attributes: object) -> Html:
    """A tag without content: `<img ...>`, `<source ...>`."""
    return Html(tag(element, **attributes).removesuffix(f"</{element}>"))


def paragraph(sentence: object, *, kind: str | None = None) -> Html:
    return tag("p", sentence, class_=kind)


def missing(sentence: str) -> Html:
    """What stands where a figure would, if there were something to draw."""
    return paragraph(sentence, kind="missing")


def data_uri(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def whole_page(title: str, head: Html, sections: list[Section]) -> str:
    """One file: style and script inline and named by their hashes, pictures embedded, nothing else allowed."""
    css, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(css)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    entries = [tag("li", tag("a", part.title, href=f"#{part.anchor}")) for part in sections]
    body = [tag("section", tag("h2", part.title), part.body, id=part.anchor) for part in sections]
    return join(
        Html('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'),
        void("meta", http_equiv="Content-Security-Policy", content=policy),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="generator", content=f"endotransfer {__version__}"),
        void("link", rel="icon", href="data:,"),
        tag("title", title),
        Html(f"<style>{css}</style>\n</head>\n<body>"),
        tag("header", tag("h1", title), head),
        tag("nav", tag("ul", *entries), aria_label="Sections"),
        tag("main", *body),
        tag("footer", f"Made by endotransfer {__version__}. {DISCLAIMER}"),
        Html(f"<script>{script}</script>\n</body>\n</html>\n"),
    )


def _asset(name: str) -> str:
    return files("endotransfer.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """As a content security policy names an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
