"""What a prediction shows of itself: overlay, PNG, figure, HTML."""

import base64
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import endotransfer
from endotransfer.data.class_colours import CLASS_COLOURS
from endotransfer.errors import ConfigError, DataError
from endotransfer.predict.overlay import overlay
from endotransfer.predict.prediction import Prediction

IMAGE = np.full((8, 6, 3), 90, np.uint8)


def prediction(
    classes: tuple[str, ...] = ("normal", "polyp", "ulcer"), image: NDArray[np.uint8] | None = IMAGE
) -> Prediction:
    """Class 1 above, class 2 in one corner."""
    mask = np.zeros((8, 6), np.uint8)
    mask[:4] = 1
    if len(classes) > 2:
        mask[7, 5] = 2
    return Prediction(mask, np.eye(len(classes), dtype=np.float32)[mask].transpose(2, 0, 1), 0.75, image, classes)


def opened(content: bytes | Path) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(content) if isinstance(content, bytes) else content) as image:
        assert image.format == "PNG"
        return np.asarray(image)


def test_the_overlay_tints_and_outlines_each_class() -> None:
    drawn = prediction().overlay()
    np.testing.assert_array_equal(drawn, overlay(IMAGE, prediction().mask))
    np.testing.assert_array_equal(drawn[3, 0], CLASS_COLOURS[1])  # at the border: the colour itself
    np.testing.assert_array_equal(drawn[7, 5], CLASS_COLOURS[2])
    np.testing.assert_array_equal(drawn[0, 0], (0.65 * 90 + 0.35 * CLASS_COLOURS[1]).astype(np.uint8))
    np.testing.assert_array_equal(drawn[6, 0], IMAGE[6, 0])  # class 0 stays as it is
    assert (IMAGE == 90).all()


def test_an_overlay_without_its_image_asks_for_it() -> None:
    bare = prediction(image=None)
    np.testing.assert_array_equal(bare.overlay(image=IMAGE), prediction().overlay())
    for wrong in (None, IMAGE[:4]):
        with pytest.raises(ConfigError, match=r"overlay\(image=...\) of 6 x 8"):
            bare.overlay(image=wrong)
    assert bare._repr_html_() is None


def test_masks_and_overlays_are_saved_pixel_by_pixel(tmp_path: Path) -> None:
    three, two = prediction(), prediction(("normal", "lesion"))
    three.save(tmp_path / "three.png")
    two.save(str(tmp_path / "two.PNG"))
    two.save(tmp_path / "overlay.png", overlay=True)
    np.testing.assert_array_equal(opened(tmp_path / "three.png"), three.mask)
    np.testing.assert_array_equal(opened(tmp_path / "two.PNG"), two.mask * 255)
    np.testing.assert_array_equal(opened(tmp_path / "overlay.png"), two.overlay())


def test_other_formats_and_missing_folders_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"saved as PNG, .* name the file a\.png"):
        prediction().save(tmp_path / "a.jpg")
    with pytest.raises(DataError, match=r"cannot write .*a\.png"):
        prediction().save(tmp_path / "no folder" / "a.png")


def test_a_notebook_shows_the_overlay_and_the_areas_with_names_escaped() -> None:
    one = prediction(("normal", "<script>alert(1)</script>", "ulcer"))
    html = one._repr_html_()
    assert html is not None and "<script>" not in html and "&lt;script&gt;" in html
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]*)"', html)
    np.testing.assert_array_equal(opened(base64.b64decode(picture)), one.overlay())
    assert "<td>24</td><td>50.0 %</td>" in html and "<td>1</td><td>2.1 %</td>" in html
    assert "lesion probability 0.750" in html


def test_large_images_are_shrunk_in_a_notebook() -> None:
    mask = np.zeros((30, 3000), np.uint8)
    wide = Prediction(mask, np.zeros((2, 30, 3000), np.float32), None, np.zeros((30, 3000, 3), np.uint8))
    html = wide._repr_html_()
    assert html is not None and "caption" not in html
    (picture,) = re.findall(r'base64,([^"]*)"', html)
    assert opened(base64.b64decode(picture)).shape == (10, 1024, 3)
    assert wide.areas == {"0": 90000, "1": 0}


def test_show_returns_a_figure_with_both_pictures() -> None:
    from matplotlib import pyplot

    figure = prediction().show()
    first, second = (axes.images[0].get_array() for axes in figure.axes)
    np.testing.assert_array_equal(first, IMAGE)
    np.testing.assert_array_equal(second, prediction().overlay())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["polyp (50.0 %)", "ulcer (2.1 %)"]
    assert not pyplot.get_fignums()  # closed: a notebook would show it twice
    figure.savefig(io.BytesIO())


def test_the_torch_predictor_keeps_image_and_classes(model: Path) -> None:
    image = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    one = endotransfer.load(model, "cpu").predict(image)
    np.testing.assert_array_equal(one.overlay(), overlay(image, one.mask))
    assert list(one.areas) == ["normal", "lesion"] and sum(one.areas.values()) == 1200


def test_predictions_are_drawn_without_torch(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["torch"] = None
import numpy as np
from endotransfer.predict.prediction import Prediction
mask = np.eye(6, dtype=np.uint8)
one = Prediction(mask, np.stack([1.0 - mask, mask]), None, np.zeros((6, 6, 3), np.uint8), ("normal", "lesion"))
one.save({str(tmp_path / "a.png")!r}, overlay=True)
print(len(one._repr_html_()) > 100, type(one.show()).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "True Figure\n", done.stderr
