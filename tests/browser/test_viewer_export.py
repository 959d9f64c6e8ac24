"""A mask drawn in the page leaves through the page: the downloaded file holds it to the pixel."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from endotransfer.data.folders.reviewed import read_reviewed_mask
from tests.browser.looking import marked_image, paint

COLOUR = "(one) => getComputedStyle(document.querySelector(one)).color"


def test_the_downloaded_file_holds_what_was_drawn(visit: Callable[..., Any], images: Path, tmp_path: Path) -> None:
    page = visit()
    page.click("#export summary")
    page.click("#export-start")
    page.wait_for_selector("#messages:has-text('no image has a reviewed mask yet')")
    assert page.is_hidden("#export-file") and page.is_enabled("#export-start")
    name = marked_image(page)
    page.fill("#who", "Ada")
    page.uncheck("#advance")
    paint(page)
    page.click("#save")
    page.wait_for_selector("#decision:has-text('Corrected by Ada')")
    page.click("#export-start")
    page.wait_for_selector("#export-note:has-text('1 image exported.')")
    assert page.evaluate(COLOUR, "#export-file") == page.evaluate(COLOUR, "#decision .link")  # as what is pressed here
    with page.expect_download() as started:
        page.click("#export-file")
    assert started.value.suggested_filename == "reviewed-native.zip"
    started.value.save_as(tmp_path / "reviewed.zip")
    with zipfile.ZipFile(tmp_path / "reviewed.zip") as packed:
        with Image.open(io.BytesIO(packed.read(f"masks/{name}.png"))) as saved:
            mask = np.asarray(saved)
        image = packed.read(f"images/{name}.png")
    drawn = read_reviewed_mask(images, name, 2)
    assert drawn is not None and drawn.any()
    assert np.array_equal(mask, drawn * 255)
    assert image == (images / "images" / f"{name}.png").read_bytes()
