"""Whether a state of the page can be seen, read and touched on every size of screen; what axe-core says of it."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.screens import SIZES, Screen

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"

SHOWN = """
  const shown = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getBoundingClientRect().width > 0
    && !node.closest(".spoken, .skip, svg");
  const within = [...document.querySelectorAll("header, main, footer, dialog[open]")];
  const nodes = within.flatMap((part) => [...part.querySelectorAll("*")]).filter(shown);
  const said = (node) => `${node.tagName} ${node.id} ${(node.innerText ?? "").slice(0, 25)}`;
"""

# What is wider than the room it has, or where nobody can scroll to.  Names of files and people may end in dots, and the
# margin of a link within text, which fingers touch, is no text.  What scrolls down alone may not hide a part sideways.
CUT_OFF = f"""() => {{ {SHOWN}
  const dots = ".link, #title, #title span, #subject, #strip *, .side.left, .side.right, .videos b";
  const kinds = /^(BUTTON|LABEL|SPAN|P|SUMMARY|H1|H2|TD|TH|LEGEND|A|OUTPUT|SMALL|B|DT|DD|LI)$/;
  const over = nodes.filter((node) => kinds.test(node.tagName) && !node.matches(dots)
    && node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== "inline");
  const scrolls = (node, axis) => {{
    for (let at = node.parentElement; at; at = at.parentElement) {{
      if (at !== document.body && /auto|scroll/.test(getComputedStyle(at)[`overflow${{axis}}`])) return true;
    }}
    return false;
  }};
  const floor = document.querySelector("footer").getBoundingClientRect().top + 1;
  const outside = nodes.filter((node) => {{
    const box = node.getBoundingClientRect();
    return ((box.right > innerWidth + 1 || box.left < -1) && !scrolls(node, "X"))
      || (node.closest("main") && box.bottom > floor && !scrolls(node, "Y") && !node.matches(".deciding, .deciding *"));
  }});
  const sideways = nodes.filter((node) => /auto|scroll/.test(getComputedStyle(node).overflowX)
    && node.scrollWidth > node.clientWidth + 1 && !node.matches("#strip, .growth"));
  const context = document.createElement("canvas").getContext("2d");
  const short = [...document.querySelectorAll("select")].filter(shown).filter((select) => {{
    context.font = getComputedStyle(select).font;
    const texts = [...select.options].map((option) => option.text).filter((text) => !/ by |: /.test(text));
    const widths = texts.map((text) => context.measureText(text).width);
    return Math.max(0, ...widths) + 24 > select.clientWidth; // the arrow and the padding
  }});
  const ticks = [...document.querySelectorAll("svg text")].filter((text) => text.checkVisibility()).filter((text) => {{
    const [box, room] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
    return box.left < room.left - 1 || box.right > room.right + 1;
  }});
  return [...over.map((node) => "cut off: " + said(node)), ...sideways.map((node) => "scrolls sideways: " + said(node)),
    ...outside.map((node) => "out of reach: " + said(node)),
    ...short.map((node) => "a choice does not fit: " + said(node)),
    ...ticks.map((text) => "cut off: " + text.textContent)];
}}"""

# Neighbours that lie upon each other; a slider's line is far from the edge of its box.
OVERLAP = f"""() => {{ {SHOWN}
  const lies = (node) => {{
    const style = getComputedStyle(node);
    return /static|relative/.test(style.position) && style.display !== "inline" && !node.closest(".stack");
  }};
  const found = [];
  for (const parent of new Set(nodes.map((node) => node.parentElement))) {{
    const boxes = [...parent.children].filter((node) => shown(node) && lies(node))
      .map((node) => [node, node.getBoundingClientRect()]);
    boxes.forEach(([one, a], place) => boxes.slice(place + 1).forEach(([other, b]) => {{
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) found.push(`${{said(one)}} and ${{said(other)}}`);
    }}));
  }}
  return found;
}}"""

# What a finger would miss: under 44 pixels either way.  A link within text has a margin that can be touched, too.
SMALL = f"""() => {{ {SHOWN}
  const touched = "button:not(.link), select, summary, .segments label, .check, "
    + "input:not([type=radio], [type=checkbox])";
  return nodes.filter((node) => node.matches(touched)).filter((node) => {{
    const box = node.getBoundingClientRect();
    return box.height < 43 || box.width < 43;
  }}).map(said);
}}"""


# Fields and buttons that the parts which stick to the edges of a phone still cover when one goes to them.
COVERED = f"""() => {{ {SHOWN}
  const [top, bottom] = [document.querySelector(".stage"), document.querySelector(".deciding")];
  const gone = nodes.filter((node) => node.matches(":is(.list, .controls) :is(button, select, input)"));
  const found = gone.filter((node) => ["start", "end"].some((block) => {{
    node.scrollIntoView({{ block, behavior: "instant" }});
    const box = node.getBoundingClientRect();
    return box.top < top.getBoundingClientRect().bottom - 1 || box.bottom > bottom.getBoundingClientRect().top + 1;
  }}));
  scrollTo(0, 0);
  return found.map(said);
}}"""


def covered_on_a_phone(page: Any, screen: Screen) -> list[str]:
    """What cannot be seen on a phone although one has gone there; back to the test's own screen."""
    width, height = SIZES[-1]
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(60)
    found = page.evaluate(COVERED)
    page.set_viewport_size({"width": screen.width, "height": screen.height})
    return list(found)


def faults(page: Any) -> list[str]:
    """What is wrong with the page as it is now."""
    found = [*page.evaluate(CUT_OFF), *(f"overlap: {one}" for one in page.evaluate(OVERLAP))]
    width = page.viewport_size["width"]
    if page.evaluate("document.documentElement.scrollWidth") > width:
        found.append("the page scrolls sideways")
    if width < 500:
        found += [f"too small for a finger: {one}" for one in page.evaluate(SMALL)]
    return found


def faults_on_every_size(page: Any, screen: Screen) -> list[str]:
    """The same state on each size of screen, and back to its own."""
    found = []
    for width, height in [*SIZES, (screen.width, screen.height)]:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(60)
        found += [f"{width} wide: {one}" for one in faults(page)]
    return list(dict.fromkeys(found))


def violations(page: Any) -> list[Any]:
    """What axe-core finds serious, with the elements."""
    if not AXE.is_file():
        pytest.skip("axe-core is not here: `make check-page` fetches it where there is npm")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [(one["id"], [node["html"][:90] for node in one["nodes"]]) for one in found
            if one["impact"] in ("serious", "critical")]  # fmt: skip
