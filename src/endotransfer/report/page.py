"""The report as HTML: templates that escape whatever they are given, and a page that needs nothing from outside."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from endotransfer import __version__
from endotransfer.disclaimer import DISCLAIMER


@dataclass(frozen=True)
class Section:
    """A part of the page.  `anchor` is ours, `title` may be anything."""

    anchor: str
    title: str
    body: Markup


def fill(template: str, **values: object) -> Markup:
    """`templates/<template>` with `values`: no name that a user chose can become markup."""
    return Markup(_templates().get_template(template).render(values))


def missing(sentence: str) -> Markup:
    """What stands where a figure would, if there were something to draw."""
    return fill("missing.html", sentence=sentence)


def breakable(value: object) -> Markup:
    """Text that may take a new line within a long name: after an underscore or a slash."""
    return escape(value).replace("_", Markup("_<wbr>")).replace("/", Markup("/<wbr>"))


def data_uri(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def whole_page(title: str, head: Markup, sections: list[Section]) -> str:
    """One file: style and script inline and named by their hashes, pictures embedded, nothing else allowed."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    made_by = f"endotransfer {__version__}"
    page = fill(
        "page.html", title=title, head=head, sections=sections, policy=policy, made_by=made_by, disclaimer=DISCLAIMER,
        style=Markup(style), script=Markup(script),
    )  # fmt: skip
    return str(page)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("endotransfer.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["breakable"] = breakable
    return environment


def _asset(name: str) -> str:
    return files("endotransfer.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """As a content security policy names an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
