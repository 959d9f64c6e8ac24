"""Nothing is cut off, on any screen and in either theme, and axe-core finds nothing serious on any view."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.looking import settled
from tests.browser.screens import Screen

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"

# What is wider or higher than the room it has.  Names may end in dots: the row, the title and the first line.
CUT_OFF = """() => {
  const dots = "#title, #title span, #subject, #strip *, #reading, .side, .figures th, select";
  const kinds = /^(BUTTON|LABEL|SPAN|P|SUMMARY|H1|H2|TD|TH|LEGEND|A|OUTPUT|SMALL|B)$/;
  const shown = (node) => node.offsetParent && node.getBoundingClientRect().width > 0
    && !node.closest(".spoken, .skip, dialog, svg");
  const nodes = [...document.querySelectorAll("main *, header *, footer *")].filter(shown);
  const said = (node) => `${node.tagName} ${node.id} ${node.innerText?.slice(0, 25)}`;
  const over = nodes.filter((node) => kinds.test(node.tagName) && !node.matches(dots)
    && node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== "inline");
  const scrolls = (node) => {
    for (let at = node.parentElement; at; at = at.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };
  const outside = nodes.filter((node) => {
    const box = node.getBoundingClientRect();
    return (box.right > innerWidth + 1 || box.left < -1) && !scrolls(node);
  });
  const context = document.createElement("canvas").getContext("2d");
  const short = [...document.querySelectorAll("select")].filter(shown).filter((select) => {
    context.font = getComputedStyle(select).font;
    const widths = [...select.options].map((option) => context.measureText(option.text).width);
    return Math.max(0, ...widths) + 24 > select.clientWidth; // the arrow and the padding
  });
  return [...over.map((node) => "cut off: " + said(node)), ...outside.map((node) => "outside: " + said(node)),
    ...short.map((node) => "a choice does not fit: " + said(node))];
}"""
COVERED = """(id) => {
  const box = document.getElementById(id).getBoundingClientRect();
  const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight && box.top >= 0
    && document.getElementById(id).contains(top);
}"""


def views(page: Any) -> Iterator[str]:
    """Each view of the page once: with a tool in hand and everything open, the grid, the tabs."""
    settled(page, page.locator("#strip b").first.text_content())
    page.evaluate("document.querySelector('input[name=tool][value=click]').click()")
    page.evaluate("document.getElementById('blank').click()")
    page.wait_for_selector("#click-note:has-text('Click on the lesion')", state="attached")
    yield "clicking"
    page.evaluate("for (const part of document.querySelectorAll('.panel details, .list details')) part.open = true")
    page.evaluate("document.querySelector('input[name=tool][value=brush]').click()")
    page.keyboard.press("c")
    page.wait_for_timeout(100)
    yield "everything open"
    page.evaluate("document.getElementById('grid').click()")
    page.wait_for_timeout(300)
    yield "grid"
    page.evaluate("document.getElementById('grid').click()")
    for tab in page.locator("[role=tab]").all():
        name = str(tab.get_attribute("id"))
        if name != "tab-images":
            tab.click()
            page.wait_for_timeout(400)
            yield name


@pytest.mark.every_screen
def test_nothing_is_cut_off(visit: Callable[..., Any], screen: Screen) -> None:
    page = visit()
    for view in views(page):
        assert page.evaluate(CUT_OFF) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= screen.width, view
        if view == "clicking":
            page.locator("#save").scroll_into_view_if_needed()
            assert [name for name in ("accept", "reject", "save") if not page.evaluate(COVERED, name)] == []


@pytest.mark.every_screen
def test_axe_finds_nothing_serious(visit: Callable[..., Any]) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not here: `make check-page` fetches it where there is npm")
    page = visit()
    source = AXE.read_text(encoding="utf-8")
    for view in views(page):
        page.evaluate(source)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        serious = [(one["id"], [node["html"][:90] for node in one["nodes"]]) for one in found
                   if one["impact"] in ("serious", "critical")]  # fmt: skip
        assert serious == [], view
