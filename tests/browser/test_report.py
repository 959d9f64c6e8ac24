"""The report in a real browser: nothing on its console, nothing asked of the outside, readable on any screen."""

from pathlib import Path
from typing import Any

import pytest

from endotransfer.report import tsne
from endotransfer.report.html_report import write_report
from endotransfer.testing.fixtures import MakeExperiment
from tests.report_study import HOSTILE, build_study


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, make_experiment: MakeExperiment) -> Path:
    folder = tmp_path_factory.mktemp("browser") / "bench"
    folder.mkdir()
    build_study(folder, make_experiment)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tsne, "POINTS", 80)
        return write_report(folder)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_quietly_and_fits(browser: Any, report: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    page.evaluate("Promise.all([...document.images].map((i) => { i.loading = 'eager'; return i.decode(); }))")
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("[...document.images].every((i) => i.naturalWidth > 0)")
    assert page.inner_text("h1") == HOSTILE
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) > 384) == (scheme == "light")
    context.close()


def test_a_click_on_a_head_sorts_the_table_and_another_turns_it(browser: Any, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    order = "[...document.querySelectorAll('tbody tr')].map((row) => Number(row.cells[4].dataset.value))"
    page.click("th button >> text=mIoU")
    down = page.evaluate(order)
    page.click("th button >> text=mIoU")
    assert down == sorted(down, reverse=True)
    assert page.evaluate(order) == down[::-1]
    assert len(set(down)) == 2
    page.close()
