"""Images unlike the training images in a real browser: a badge on the image, a sign in the list, a filter."""

import shutil
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.looking import settled
from tests.browser.screens import Screen
from tests.model_folders import write_model
from tests.served import serving

# A message of the page, over the badge or not.
MEET = """async () => {
  const { tell } = await import("/page/messages.js");
  tell("a message that is somewhat longer than what is usually said to a person, who looks at the image meanwhile");
  const [a, b] = ["#messages p", "#unfamiliar"].map((one) => document.querySelector(one).getBoundingClientRect());
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}"""
CALL_UNLIKE = """async () => {
  const { emit, state } = await import("/page/state.js");
  for (const row of state.rows) if (row.name === "0003") row.unfamiliar = "unlike the training images";
  emit("rows");
}"""


def test_a_black_frame_has_its_badge_in_list_and_stage(
    browser: Any, images: Path, tmp_path: Path, screen: Screen
) -> None:
    folder = Path(shutil.copytree(images, tmp_path / "images"))
    Image.new("RGB", (96, 96)).save(folder / "images" / "0003.png")
    with serving([write_model(tmp_path / "model")], folder, tmp_path / "home") as server:
        context = browser.new_context(**screen.context)
        page = context.new_page()
        page.goto(f"{server.address}#image=0003")
        page.wait_for_selector("html[data-ready]")
        settled(page, "0003")
        assert page.inner_text("#unfamiliar") == "⚠ Almost black: the mask is not to be trusted"
        page.wait_for_function("() => document.getElementById('survey').hidden", timeout=60_000)
        page.select_option("#filter", "unfamiliar")
        page.wait_for_selector("#strip li:has-text('0003'):has-text('⚠ almost black')")
        assert not page.evaluate(MEET)
        page.evaluate(CALL_UNLIKE)
        note = page.locator("#strip li:has-text('0003') small")
        assert note.inner_text().startswith("⚠ unfamiliar · area\u00a0")  # as the filter calls them
        context.close()
