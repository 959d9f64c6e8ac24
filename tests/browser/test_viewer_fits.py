"""In every state of the page nothing is cut off or in the way, on any screen, and axe-core finds nothing serious."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.browser.fitting import covered_on_a_phone, faults, faults_on_every_size, violations
from tests.browser.looking import settled
from tests.browser.screens import Screen
from tests.browser.states import Walk, deciding, drawing, looking, measuring

REFUSED = "Failed to load resource: the server responded with a status of {}"
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


def test_every_view_fits_and_is_accessible(visit: Callable[..., Any]) -> None:
    page = visit()
    for view in views(page):
        assert faults(page) == [], view
        assert violations(page) == [], view
        if view == "clicking":
            page.locator("#save").scroll_into_view_if_needed()
            assert [name for name in ("accept", "reject", "save") if not page.evaluate(COVERED, name)] == []


def test_what_sticks_to_a_phone_covers_nothing_that_one_goes_to(visit: Callable[..., Any], screen: Screen) -> None:
    page = visit()
    assert covered_on_a_phone(page, screen) == []
    page.keyboard.press("c")
    page.wait_for_selector("#swipe-field:visible")
    assert covered_on_a_phone(page, screen) == []  # the divider's slider takes a row more


def wrong_in(page: Any, screen: Screen, walk: Walk) -> list[str]:
    return [f"{name}: {one}" for name, _ in walk(page)
            for one in [*faults_on_every_size(page, screen), *violations(page)]]  # fmt: skip


def test_what_is_looked_at_fits(visit: Callable[..., Any], screen: Screen) -> None:
    page = visit()
    visit.expected = [REFUSED.format("400 (Bad Request)")]  # type: ignore[attr-defined]
    assert wrong_in(page, screen, looking) == []


def test_tools_and_drawings_fit(visit: Callable[..., Any], screen: Screen) -> None:
    assert wrong_in(visit(), screen, drawing) == []


def test_decisions_and_conflicts_fit(visit: Callable[..., Any], screen: Screen) -> None:
    page = visit()
    visit.expected = [REFUSED.format(one) for one in ("409 (Conflict)", "412 (Precondition Failed)")]  # type: ignore[attr-defined]
    assert wrong_in(page, screen, deciding) == []


def test_blind_readings_fit(visit: Callable[..., Any], screen: Screen) -> None:
    assert wrong_in(visit(), screen, measuring) == []
