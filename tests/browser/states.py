"""Walks through the states of the viewer's page, each made as a person makes it.

A walk begins with a page that is ready, on a large screen, and yields the name of each state that it has reached, with
the part of the page that it is about.  What looks at it may change the size of the window, and puts it back.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.browser.looking import marked_image, paint, settled

State = tuple[str, str]
Walk = Callable[[Any], Iterator[State]]
BROKEN = {"name": "a-name-that-is-long-enough-to-be-cut-off-somewhere.png", "mimeType": "image/png", "buffer": b"no"}


def looking(page: Any) -> Iterator[State]:
    """Nothing is decided: styles, comparison, light, the list, help, a fault."""
    yield "start", "#canvas"
    marked_image(page)
    for style in ("outline", "fill", "heat", "errors"):
        page.check(f"input[value={style}]", force=True)
        yield f"mask as {style}", "#style"
    page.check("input[value=outline]", force=True)
    page.click("summary:has-text('Light')")
    yield "light", "#brightness"
    page.keyboard.press("c")
    page.select_option("#right", "truth")
    page.check("#truth-outline")
    yield "comparison", "#left"
    page.keyboard.press("c")
    page.set_input_files("#files", BROKEN)
    page.wait_for_selector("#messages p")
    yield "a fault", "#canvas"
    if page.locator(".list .more summary").is_visible():  # where there is something to choose by
        page.click(".list .more summary")
        yield "filters", ".list .more"
    page.keyboard.press("d")
    page.wait_for_timeout(400)
    yield "grid", "#order"
    page.fill("#search", "nothing is called so")
    yield "nothing found", "#search"
    page.fill("#search", "")
    page.locator("#search").blur()
    page.keyboard.press("d")
    page.keyboard.press("?")
    yield "help", "#help"
    page.keyboard.press("Escape")


def middle(page: Any, dx: float = 0, dy: float = 0) -> tuple[float, float]:
    """Of the canvas on the screen, or so far from it."""
    box = page.locator("#canvas").bounding_box()
    return box["x"] + box["width"] / 2 + dx, box["y"] + box["height"] / 2 + dy


def drawing(page: Any) -> Iterator[State]:
    """Each tool in hand, and drawings in the making."""
    marked_image(page)
    page.keyboard.press("f")
    for name in page.locator("input[name=tool]").evaluate_all("all => all.map((one) => one.value)"):
        page.evaluate("name => document.querySelector(`input[name=tool][value=${name}]`).click()", name)
        yield f"tool {name}", "#tools"
    page.keyboard.press("k")
    page.mouse.click(*middle(page))
    page.wait_for_selector("#click-note:has-text('1 point')")
    yield "clicked", "#click-note"
    paint(page)
    yield "painted", "#tools"
    page.keyboard.press("g")
    for dx, dy in ((-90, -60), (100, -40), (40, 90)):
        page.mouse.click(*middle(page, dx, dy))
    page.mouse.move(*middle(page, -60, 80))
    yield "polygon begun", "#tools"
    page.keyboard.press("Escape")
    page.click("#discard")


def deciding(page: Any) -> Iterator[State]:
    """Accepted, rejected, corrected; history, the question before a correction is put aside, a conflict, an export."""
    marked_image(page)
    page.fill("#who", "Ada Lovelace")
    page.uncheck("#advance")
    page.locator("#who").blur()
    for key, word in (("r", "Rejected"), ("a", "Accepted")):
        page.keyboard.press(key)
        page.wait_for_selector(f"#decision:has-text('{word}')")
        yield word.lower(), "#decision"
    paint(page)
    page.keyboard.press("s")
    page.wait_for_selector("#decision:has-text('Corrected')")
    page.click("#history summary")
    page.wait_for_selector("#versions li")
    yield "history", "#versions"
    page.select_option("#left", "model0")
    page.keyboard.press("v")
    page.keyboard.press("a")
    page.wait_for_selector("#confirm:has-text('drew')")
    yield "question", "#confirm"
    page.keyboard.press("Escape")
    page.wait_for_selector("#confirm", state="hidden")
    yield from conflict(page)
    page.click("#export > summary")
    page.click("#export-start")
    page.wait_for_selector("#export-note:has-text('exported.')")
    yield "exported", "#export-file"


def conflict(page: Any) -> Iterator[State]:
    """Somebody else decides about the same image meanwhile."""
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("html[data-ready]")
    other.fill("#who", "Grace")
    other.uncheck("#advance")
    other.locator("#who").blur()
    other.keyboard.press("r")
    other.click("#confirm-yes")
    other.wait_for_selector("#decision:has-text('Rejected by Grace')")
    other.close()
    page.keyboard.press("b")
    paint(page)
    page.keyboard.press("s")
    page.wait_for_selector("#messages:has-text('meanwhile')")
    yield "conflict", "#decision"
    page.keyboard.press("s")  # seen, and meant
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")


def measuring(page: Any) -> Iterator[State]:
    """A sample that is read blind, twice, and settled."""
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    page.click("#sample summary")
    yield "sample", "#draw"
    page.fill("#count", "2")
    page.click("#draw")
    page.wait_for_function("() => document.querySelectorAll('#strip b').length === 2")
    for name in page.locator("#strip b").all_inner_texts():
        page.locator(f"#strip button:has-text('{name}')").click()
        settled(page, name)
        yield "blind", "#blind-note"
        paint(page)
        page.keyboard.press("s")
        page.wait_for_selector("#decision:has-text('Drawn blind by Ada')")
    yield "interval", "#estimate"
    page.select_option("#reading-as", "second")
    page.fill("#who", "Grace")
    page.locator("#who").blur()
    page.wait_for_selector("#decision:has-text('Read by Ada; yours is open')")
    yield "second reader", "#readers"
    page.keyboard.press("n")
    page.wait_for_selector("#readers:has-text('Two readers on 1')")
    page.select_option("#reading-as", "adjudicate")
    page.fill("#who", "Emmy")
    page.locator("#who").blur()
    page.wait_for_selector("#accept:has-text('Take left')")
    yield "adjudicator", "#readers"
