"""The list of images in a real browser: filters, search, links, the place where one was, who did how much."""

import json
from collections.abc import Callable
from typing import Any

from tests.browser.looking import settled, title
from tests.served import Server

ICON = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'

CLICK_EARLY = """new MutationObserver((_, observer) => {
  const row = document.querySelectorAll("#strip button")[2];
  if (!row) return;
  observer.disconnect();
  row.click();
}).observe(document, { childList: true, subtree: true });"""  # no person is quicker


def names(page: Any) -> list[str]:
    return [str(name) for name in page.locator("#strip b").all_inner_texts()]


def test_filters_search_and_progress(visit: Callable[..., Any]) -> None:
    page = visit()
    everything = names(page)
    page.fill("#search", "3")
    assert names(page) == ["0003"]
    page.fill("#search", "")
    page.fill("#who", "Ada")
    page.locator("#who").blur()
    page.keyboard.press("a")
    settled(page, everything[1])
    assert page.inner_text("#progress") == f"Reviewed: Ada 1 of {len(everything)}."
    page.select_option("#filter", "accepted")
    assert names(page) == everything[:1]
    page.select_option("#filter", "all")
    page.click(".list .more summary")
    page.select_option("#only-tag", "lesion")
    lesions = names(page)
    assert 0 < len(lesions) < len(everything)
    page.select_option("#only-patient", label=page.locator("#only-patient option").nth(1).inner_text())
    assert 0 < len(names(page)) < len(lesions)
    assert page.inner_text("#more-count") == " (2)"


def test_an_address_leads_to_an_image_and_the_place_is_kept(visit: Callable[..., Any]) -> None:
    page = visit(path="#image=0003")
    assert title(page) == "0003"
    page.keyboard.press("ArrowRight")
    settled(page, "0004")
    assert page.url.endswith("#image=0004")
    page.goto(page.url.split("#")[0])
    page.wait_for_selector("html[data-ready]")
    assert title(page) == "0004"


def test_an_early_click_is_not_overridden(visit: Callable[..., Any], server: Any) -> None:
    page = visit()

    def slowly(route: Any) -> None:
        page.wait_for_timeout(1500 if "/map/" in route.request.url else 300)
        route.continue_()

    page.route("**/api/images/*/map/0", slowly)
    page.route("**/api/sample*", slowly)
    page.evaluate("localStorage.clear()")
    page.add_init_script(CLICK_EARLY)
    page.goto("about:blank")
    page.goto(server.address, wait_until="commit")
    page.wait_for_selector("html[data-ready]")
    settled(page, "0002")
    page.wait_for_timeout(300)
    assert title(page) == "0002"
    page.unroute_all(behavior="wait")  # what is still asked for ahead belongs to this test


def test_a_long_list_comes_in_parts_and_shows_where_one_is(visit: Callable[..., Any], server: Server) -> None:
    page = visit()
    listed = json.loads(server.get("/api/images")[1])
    more = [{**listed["images"][0], "id": f"{number:016x}", "name": f" {number:04d}"} for number in range(500)]
    answer = json.dumps({**listed, "images": [*more, *listed["images"]]})
    page.route("**/api/images?order=name", lambda route: route.fulfill(body=answer, content_type="application/json"))
    page.route("**/api/images/0000*/thumbnail", lambda route: route.fulfill(body=ICON, content_type="image/svg+xml"))
    page.goto("about:blank")
    page.goto(server.address + "#image=0004")
    page.wait_for_selector("html[data-ready]")
    assert title(page) == "0004"
    page.wait_for_function("count => document.querySelectorAll('#strip li').length === count", arg=len(more) + 6)
    assert [name.strip() for name in names(page)] == [row["name"].strip() for row in [*more, *listed["images"]]]
    current = page.locator("#strip [aria-current]")
    assert current.count() == 1
    assert current.locator("b").inner_text() == "0004"
    strip, row = page.locator("#strip").bounding_box(), current.bounding_box()
    assert strip["y"] <= row["y"] and row["y"] + row["height"] <= strip["y"] + strip["height"] + 1
