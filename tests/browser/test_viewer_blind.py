"""Measuring in a real browser: drawn images are judged blind, accepts are agreement, two readers are compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from endotransfer.data.folders.review_files import read_record
from endotransfer.data.folders.review_record import in_force, second_readings
from tests.browser.looking import Look, paint, settled, title


def draw_sample(page: Any, count: int, who: str) -> list[str]:
    page.fill("#who", who)
    page.click("#sample summary")
    page.fill("#count", str(count))
    page.click("#draw")
    page.wait_for_selector("#drawn:visible")
    page.wait_for_function("n => document.querySelectorAll('#strip b').length === n", arg=count)
    settled(page, page.locator("#strip b").first.inner_text())
    return [str(name) for name in page.locator("#strip b").all_inner_texts()]


def test_a_drawn_image_is_judged_blind_and_gives_an_interval(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    names = draw_sample(page, 2, "Grace")
    alone = Look(page)
    page.keyboard.press("h")
    assert Look(page) - alone == 0  # no mask is shown that could be hidden
    assert page.locator("#left option").all_inner_texts() == ["Image alone"]
    assert page.locator("#strip small").all_inner_texts() == ["judged blind"] * 2
    page.keyboard.press("h")
    page.keyboard.press("a")
    assert "judged blind" in page.inner_text("#messages")
    for number, name in enumerate(names):
        settled(page, name)
        paint(page)
        page.keyboard.press("s")
        page.wait_for_selector(
            f"#sample-note:has-text('{number + 1} of 2 drawn images labelled, {number + 1} of them')"
        )
    # Both images are of one patient, who cannot say how patients differ.
    assert page.inner_text("#estimate").endswith("% (one patient: no interval) over 2 blind")
    found = [in_force(read_record(images, name).versions) for name in names]
    assert [one and (one.decision, one.blind, one.model) for one in found] == [("corrected", True, None)] * 2


def test_what_is_seen_first_is_agreement_and_no_iou(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    first, second = draw_sample(page, 2, "Grace")
    page.keyboard.press("m")
    page.wait_for_selector("#seen-note:visible")
    page.keyboard.press("a")
    settled(page, second)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.click("#sample summary")
    page.click("#sample-show")
    settled(page, second)
    page.keyboard.press("n")
    page.wait_for_selector("#sample-note:has-text('2 of 2 drawn images labelled, 1 of them blind')")
    assert "1 accepted unchanged: agreement, not accuracy." in page.inner_text("#sample-note")
    decided = in_force(read_record(images, first).versions)
    assert decided is not None
    assert (decided.decision, decided.blind) == ("accepted", False)
    page.locator("#strip button").first.click()
    settled(page, first)
    assert page.locator("#blind-note").is_hidden()  # it stays seen


def test_a_second_reader_and_an_adjudicator(visit: Callable[..., Any], images: Path) -> None:
    page = visit()
    (name, _) = draw_sample(page, 2, "Ada")
    page.uncheck("#advance")
    paint(page)
    page.keyboard.press("s")
    page.wait_for_selector("#decision:has-text('Drawn blind by Ada')")
    assert page.locator("#left option:checked").inner_text() == "Read by Ada"  # what she drew stays in view
    page.select_option("#reading-as", "second")
    page.fill("#who", "Grace")
    page.locator("#who").blur()
    page.wait_for_selector("#decision:has-text('Read by Ada; yours is open')")
    assert page.locator("#left option").all_inner_texts() == ["Image alone"]
    page.keyboard.press("n")
    page.wait_for_selector("#readers:has-text('Two readers on 1')")
    assert page.locator("#left option").all_inner_texts() == ["Second: Grace", "Image alone"]
    assert "IoU 0.0 %" in page.inner_text("#readers")
    page.select_option("#reading-as", "adjudicate")
    page.fill("#who", "Emmy")
    page.locator("#who").blur()
    assert page.inner_text("#side-left") == "Read by Ada"
    assert page.inner_text("#side-right") == "Second: Grace"
    page.click("#accept:has-text('Take left')")
    page.wait_for_selector("#readers:has-text('1 settled')")
    versions = read_record(images, name).versions
    assert [(one.who, one.adjudicated) for one in versions] == [("Ada", False), ("Grace", False), ("Emmy", True)]
    assert [one.who for one in second_readings(versions)] == ["Grace"]
    assert versions[2].mask == versions[0].mask
    assert title(page) == name


def test_a_sample_that_cannot_be_read_is_said(visit: Callable[..., Any], images: Path) -> None:
    (images / "reviewed").mkdir(exist_ok=True)
    (images / "reviewed" / "sample.yaml").write_text("\timages")
    page = visit()
    visit.expected = ["Failed to load resource: the server responded with a status of 409 (Conflict)"]  # type: ignore[attr-defined]
    assert "restore it from a copy" in page.inner_text("#sample-fault")
    assert page.locator("#draw").is_hidden()
    assert title(page) == "0000"
