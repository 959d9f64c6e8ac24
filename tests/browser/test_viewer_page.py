"""The viewer's page as such: the runs, any screen, both themes, names for everything, contrast, keys."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.screens import Screen

NAMELESS = """() => [...document.querySelectorAll("button, input, select, canvas, progress, [role=tab]")]
  .filter((node) => node.offsetParent && !(node.textContent.trim() || node.ariaLabel || node.labels?.length))
  .map((node) => node.outerHTML)"""

# Text whose contrast with what lies behind it is under 4.5 to 1 (WCAG 2 AA).
FAINT = """() => {
  const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("p, label, button, h1, h2, summary, td, th, small, b, output")]
    .filter((node) => node.offsetParent && !node.disabled && node.innerText.trim())
    .filter((node) => !node.closest(".side, .busy"))
    .map((node) => {
      const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
      return [((a + 0.05) / (b + 0.05)).toFixed(2), node.innerText.slice(0, 20)];
    }).filter(([ratio]) => ratio < 4.5);
}"""


def test_the_runs_tab_shows_curves_and_growing_labels(visit: Callable[..., Any]) -> None:
    page = visit()
    page.click("#tab-runs")
    page.wait_for_selector("#runs svg")
    titles = page.locator("#runs figcaption b").all_inner_texts()
    assert {"Coverage", "Portion asked for", "loss/net"} <= set(titles)
    page.evaluate("for (const i of document.querySelectorAll('.growth img')) i.loading = 'eager'")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.growth img')].every((i) => i.complete && i.naturalWidth > 0)"
    )
    assert page.locator(".growth figure").count() >= 2
    assert page.locator("#images").is_hidden()
    page.locator("#runs svg").first.hover()
    assert "epoch" in page.locator("#runs .charts figcaption span").first.inner_text()
    page.focus("#tab-runs")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#videos-note:has-text('No video yet')")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#images .stage").is_visible()


@pytest.mark.every_screen
def test_both_tabs_fit_any_screen_and_theme(visit: Callable[..., Any], screen: Screen) -> None:
    page = visit()
    for tab in ("images", "runs"):
        page.click(f"#tab-{tab}")
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= screen.width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) > 384) == (screen.scheme == "light")
    page.click("#theme")
    turned = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, turned[4:-1].split(","))) > 384) == (screen.scheme == "dark")
    assert "not a medical device" in page.inner_text("footer")


def test_everything_has_a_name_and_enough_contrast(visit: Callable[..., Any]) -> None:
    page = visit()
    assert page.evaluate(NAMELESS) == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(FAINT) == []


def test_help_lists_the_keys(visit: Callable[..., Any]) -> None:
    page = visit()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("a")  # inside a dialog a key is no command
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()
    assert page.inner_text("#messages") == ""
