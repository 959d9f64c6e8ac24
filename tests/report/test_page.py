"""A page lets nothing in that a user wrote as markup, and nothing out."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from endotransfer.report.page import Section, breakable, fill, missing, whole_page
from endotransfer.report.tiles import Tile, TileRow

HOSTILE = '"><script>alert(1)</script>'


class Parsed(HTMLParser):
    """Tags with their attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def page() -> str:
    return whole_page(HOSTILE, Markup(""), [Section("one", HOSTILE, missing(HOSTILE))])


def test_text_is_escaped_once_and_html_is_left_alone() -> None:
    assert missing("<b> & \"'") == '<p class="missing">&lt;b&gt; &amp; &#34;&#39;</p>\n'
    assert "<b>inside</b>" in whole_page("a", Markup("<b>inside</b>"), [])


def test_a_template_that_lacks_a_value_is_an_error_not_a_gap() -> None:
    with pytest.raises(UndefinedError, match="sentence"):
        fill("missing.html")


def test_text_in_attributes_is_escaped() -> None:
    row = TileRow(HOSTILE, HOSTILE, [Tile(np.zeros((2, 3, 3), np.uint8), HOSTILE, HOSTILE)])
    parsed = Parsed(str(fill("predictions.html", introduction=HOSTILE, rows=[row], notes=[HOSTILE])))
    assert not any(name == "script" for name, _ in parsed.tags)
    (image,) = [found for name, found in parsed.tags if name == "img"]
    assert image["alt"] == f"{HOSTILE}: {HOSTILE}"
    assert (image["width"], image["height"]) == ("3", "2")


def test_a_long_name_may_break_and_stays_escaped() -> None:
    assert breakable("<a_b/c") == "&lt;a_<wbr>b/<wbr>c"


def test_a_hostile_name_is_text_in_title_heading_and_body(page: str) -> None:
    parsed = Parsed(page)
    assert [name for name, _ in parsed.tags].count("script") == 1
    assert parsed.text.count(HOSTILE) == 5  # title, h1, menu, h2, sentence


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(page: str) -> None:
    policy = next(found["content"] for name, found in Parsed(page).tags if "http-equiv" in found)
    assert policy is not None
    for element, rule in (("style", "style-src"), ("script", "script-src")):
        inline = re.findall(f"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline[-1].encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_has_a_language_a_viewport_and_a_menu_that_leads_somewhere(page: str) -> None:
    tags = Parsed(page).tags
    assert ("html", {"lang": "en"}) in tags
    assert any(found.get("name") == "viewport" for _, found in tags)
    assert ("a", {"href": "#one"}) in tags
    assert ("section", {"id": "one"}) in tags
