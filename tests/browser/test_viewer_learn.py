"""The view "Learn" from the first batch to the new model: a person's way through it, with a training of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from endotransfer.engine.run import train
from endotransfer.results import Results
from endotransfer.testing.fixtures import MakeExperiment
from tests.browser.fitting import faults_on_every_size, violations
from tests.browser.looking import review_first_of_batch
from tests.browser.screens import Screen
from tests.served import Server, serving


@pytest.fixture
def study(tasks: dict[str, Path], tmp_path: Path, make_experiment: MakeExperiment) -> Iterator[Server]:
    """A viewer on the target folder of the run that it serves."""
    data = Path(shutil.copytree(tasks["tagged"], tmp_path / "data"))
    train(make_experiment("tagged", "source_only", data=data, epochs=2), tmp_path / "runs" / "first")
    with serving([tmp_path / "runs" / "first"], data / "capsule", tmp_path / "home") as started:
        yield started


def test_a_batch_a_review_a_training_and_what_it_brought(browser: Any, study: Server, screen: Screen) -> None:
    page = browser.new_page(**screen.context)
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(study.address + "#learn")
    page.wait_for_selector("html[data-ready]")
    page.wait_for_function("() => document.getElementById('survey').hidden")
    assert page.locator("#job-start").is_disabled()  # nothing is reviewed yet
    page.fill("#batch-count", "2")
    page.click("#batch")
    page.wait_for_selector("#batch-list a")
    assert page.locator("#batch-list a").count() == 2
    name = review_first_of_batch(page)
    page.wait_for_selector(f"#batch-list li:has-text('{name} corrected')")
    page.click("#job-start:enabled")
    page.wait_for_selector("#job-note:has-text('first-reviewed-1, from first with 1 reviewed mask')")
    page.wait_for_selector("#compared:visible", timeout=120_000)
    assert "done" in page.inner_text("#job-note")
    assert "loss/net" in page.locator("#job-charts figcaption b").all_inner_texts()
    shown = page.locator("#compared-rows tr:has-text('mIoU') td").all_inner_texts()
    runs = [study.run, study.run.with_name("first-reviewed-1")]
    before, after = (float(Results.read(run / "results.json")["miou"]) for run in runs)
    found = [float(text.replace("−", "-").split()[0]) for text in shown]
    assert found == pytest.approx([before, after, after - before], abs=0.0501)
    assert "one seed each" in page.inner_text("#compared-said")
    assert faults_on_every_size(page, screen) == []
    assert violations(page) == []
    page.click("#serve-new")
    page.click("#confirm-yes")
    page.wait_for_selector("#serve-new:has-text('first-reviewed-1 is served')")
    assert page.inner_text("#subject").startswith("first-reviewed-1 and first")
    page.close()
    assert said == []


def test_without_a_folder_the_view_says_what_to_start_it_with(
    browser: Any, server: Server, tmp_path: Path, screen: Screen
) -> None:
    with serving([server.run], None, tmp_path / "home") as started:
        page = browser.new_page(**screen.context)
        page.goto(started.address + "#learn")
        page.wait_for_selector("html[data-ready]")
        page.wait_for_selector("#learn-reason .command")
        assert page.locator("#batch").is_disabled()
        assert page.inner_text("#batch-note") == "Images are chosen from a folder: start the viewer with --images DIR."
        lines = page.evaluate("[...document.querySelectorAll('.command')].map((one) => one.getClientRects().length)")
        assert lines and set(lines) == {1}
        assert faults_on_every_size(page, screen) == []
        page.close()
