"""Masks as people have them: the same drawing comes out of every way to store it, and every change is stated."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.data.folders.classes import Classes
from endotransfer.data.folders.faults import FaultError
from endotransfer.data.read.read_mask import read_mask

BINARY = Classes()
ORGANS = Classes(("back", "polyp", "ulcer", "blood"))
Mask = NDArray[np.uint8]


def palette(mask: Mask, colours: list[int]) -> Image.Image:
    picture = Image.fromarray(mask, mode="P")
    picture.putpalette(colours)
    return picture


def colour(mask: Mask, rgb: tuple[int, int, int]) -> Image.Image:
    return Image.fromarray(mask[..., None] * np.array(rgb, np.uint8))


def with_alpha(mask: Mask, alpha: Any) -> Image.Image:
    grey = 255 * mask
    return Image.fromarray(np.dstack([grey, grey, grey, np.broadcast_to(alpha, mask.shape).astype(np.uint8)]))


def alpha_only(mask: Mask) -> Image.Image:
    return Image.fromarray(np.dstack([np.full_like(mask, 9)] * 3 + [255 * mask]))


def hidden_background(mask: Mask) -> Image.Image:
    grey = np.where(mask, 255, 200).astype(np.uint8)
    return Image.fromarray(np.dstack([grey, grey, grey, 255 * mask]))


# how to store a 0/1 mask, and what the reader must say about it (None: nothing)
WAYS: dict[str, tuple[Callable[[Mask], Image.Image], str | None]] = {
    "0 / 1": (Image.fromarray, None),
    "1 bit": (lambda m: Image.fromarray(m.astype(bool)), None),
    "0 / 255": (lambda m: Image.fromarray(255 * m), "0 / 255"),
    "0 / 128": (lambda m: Image.fromarray(128 * m), "0 / 128"),
    "16 bit, 0 / 1": (lambda m: Image.fromarray(m.astype(np.uint16)), "16-bit"),
    "16 bit, 0 / 65535": (lambda m: Image.fromarray(m.astype(np.uint16) * 65535), "divided by 257"),
    "16 bit, 0 / 257 * 200": (lambda m: Image.fromarray(m.astype(np.uint16) * 257 * 200), "divided by 257"),
    "16 bit, 0 / 60000": (lambda m: Image.fromarray(m.astype(np.uint16) * 60000), "upper 8 bits"),
    "RGB copies of grey": (lambda m: colour(m, (255, 255, 255)), "three equal colour channels"),
    "RGB red": (lambda m: colour(m, (130, 0, 0)), "colours were read as lesion"),
    "RGBA, opaque": (lambda m: with_alpha(m, 255), "constant alpha"),
    "RGBA, drawn with alpha": (alpha_only, "alpha channel was used"),
    "RGBA, transparent background": (lambda m: with_alpha(m, 255 * m), "less than half opaque"),
    "RGBA, colour under the transparent background": (hidden_background, "less than half opaque"),
    "colour palette, index": (lambda m: palette(m, [0, 0, 0, 200, 0, 0]), "index values of the colour palette"),
    "grey palette, black and white": (lambda m: palette(m, [0, 0, 0, 255, 255, 255]), "grey levels of the palette"),
    "grey palette, white first": (lambda m: palette(1 - m, [255, 255, 255, 0, 0, 0]), "grey levels of the palette"),
}  # fmt: skip

drawings = arrays(np.uint8, (6, 7), elements=st.integers(0, 1)).filter(lambda m: 0 < m.sum() < m.size)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mask=drawings)
def test_every_way_to_store_a_mask_reads_the_same(tmp_path: Path, way: str, mask: Mask) -> None:
    store, said = WAYS[way]
    store(mask).save(tmp_path / "m.png")
    reading = read_mask(tmp_path / "m.png", BINARY)
    assert reading.mask.dtype == np.uint8
    assert np.array_equal(reading.mask, mask)
    assert (said is None and not reading.notes) or any(said in note for note in reading.notes if said)


@pytest.mark.parametrize("value", [0, 1, 255])
def test_constant_masks(tmp_path: Path, value: int) -> None:
    Image.fromarray(np.full((5, 5), value, np.uint8)).save(tmp_path / "m.png")
    assert (read_mask(tmp_path / "m.png", BINARY).mask == min(value, 1)).all()


@pytest.mark.parametrize("as_rgb", [False, True])
def test_jpeg_noise_is_cut_at_half(tmp_path: Path, blob: Mask, as_rgb: bool) -> None:
    picture = colour(blob, (255, 255, 255)) if as_rgb else Image.fromarray(255 * blob)
    picture.save(tmp_path / "m.jpg", quality=75)
    assert len(np.unique(np.asarray(Image.open(tmp_path / "m.jpg")))) > 10
    reading = read_mask(tmp_path / "m.jpg", BINARY)
    assert (reading.mask != blob).mean() < 0.005
    assert any("cut at half" in note for note in reading.notes)


def test_a_slight_tint_of_a_compressed_mask_is_still_grey(tmp_path: Path, blob: Mask) -> None:
    colour(blob, (255, 248, 250)).save(tmp_path / "m.jpg", quality=75)
    assert "three equal colour channels were read as one" in read_mask(tmp_path / "m.jpg", BINARY).notes


def test_colour_in_a_jpeg_is_told_from_noise_on_black(tmp_path: Path, blob: Mask) -> None:
    colour(blob, (0, 220, 0)).save(tmp_path / "m.jpg", quality=75)
    assert (read_mask(tmp_path / "m.jpg", BINARY).mask != blob).mean() < 0.02


def test_soft_edges_are_cut_at_half(tmp_path: Path, blob: Mask) -> None:
    large = Image.fromarray(255 * blob).resize((256, 192), Image.Resampling.BICUBIC)
    large.save(tmp_path / "m.png")
    assert np.array_equal(read_mask(tmp_path / "m.png", BINARY).mask, np.asarray(large) >= 128)


REFUSED: dict[str, list[int]] = {
    "class numbers": [0, 1, 2, 3],
    "a lone class number": [0, 2],
    "class numbers and ignore": [0, 1, 255],
    "grey levels": [0, 85, 170, 255],
    "a trimap": [0, 128, 255],
    "a thin drawn border": [0] * 10 + [128] + [255] * 10,
    "one middle grey": [128],
    "a soft map": list(range(256)),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_more_than_two_meanings_ask_for_classes(tmp_path: Path, kind: str) -> None:
    values = np.resize(np.array(REFUSED[kind], np.uint8), (32, 32))
    Image.fromarray(values).save(tmp_path / "m.png")
    with pytest.raises(FaultError, match=r"m\.png: holds the values .*classes\.yaml") as caught:
        read_mask(tmp_path / "m.png", BINARY)
    assert caught.value.fault is not None
    assert caught.value.fault.code == "several-values"


@given(mask=arrays(np.uint8, (5, 6), elements=st.sampled_from([0, 1, 2, 3, 255])))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_index_masks_keep_their_values(tmp_path: Path, mask: Mask) -> None:
    for name, picture in {
        "grey": Image.fromarray(mask),
        "rgb": Image.fromarray(np.dstack([mask] * 3)),
        "palette": palette(mask, [i % 256 for i in range(0, 768 * 7, 7)]),
        "wide": Image.fromarray(mask.astype(np.uint16)),
    }.items():
        picture.save(tmp_path / f"{name}.png")
        assert np.array_equal(read_mask(tmp_path / f"{name}.png", ORGANS).mask, mask)


def test_unknown_index_names_value_and_classes(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1], [3, 7]], np.uint8)).save(tmp_path / "m.png")
    with pytest.raises(FaultError, match=r"m\.png.*value 7.*0 back, 1 polyp, 2 ulcer, 3 blood.*ignore 255"):
        read_mask(tmp_path / "m.png", ORGANS)


def test_wide_index_that_is_no_scaling_is_named_as_it_is(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1], [2, 65535]], np.uint16)).save(tmp_path / "m.png")
    with pytest.raises(FaultError, match="value 65535"):
        read_mask(tmp_path / "m.png", ORGANS)


def test_another_ignore_value_is_translated_and_said(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1], [2, 99]], np.uint8)).save(tmp_path / "m.png")
    reading = read_mask(tmp_path / "m.png", Classes(ORGANS.names, ignore=99))
    assert reading.mask.tolist() == [[0, 1], [2, IGNORE]]
    assert any("99" in note for note in reading.notes)


def test_stated_ignore_turns_255_of_a_binary_mask_into_unlabelled(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1], [1, 255]], np.uint8)).save(tmp_path / "m.png")
    stated = Classes(ignore_stated=True)
    assert read_mask(tmp_path / "m.png", stated).mask.tolist() == [[0, 1], [1, IGNORE]]


def test_binary_mask_with_all_pixels_ignored(tmp_path: Path) -> None:
    Image.fromarray(np.full((3, 3), 255, np.uint8)).save(tmp_path / "m.png")
    assert (read_mask(tmp_path / "m.png", Classes(ignore_stated=True)).mask == IGNORE).all()


def refusal(path: Path, classes: Classes) -> str:
    with pytest.raises(FaultError) as caught:
        read_mask(path, classes)
    assert caught.value.fault is not None
    return caught.value.fault.code


def test_kinds_of_pixels_that_name_no_class_are_refused(tmp_path: Path, blob: Mask) -> None:
    colour(blob, (200, 0, 0)).save(tmp_path / "colour.png")
    Image.fromarray(blob).save(tmp_path / "lossy.jpg")
    Image.fromarray(blob.astype(np.float32)).save(tmp_path / "float.tiff")
    Image.fromarray(blob.astype(np.int32) * 70000).save(tmp_path / "wide.tiff")
    assert refusal(tmp_path / "colour.png", ORGANS) == "colour-mask"
    assert refusal(tmp_path / "lossy.jpg", ORGANS) == "lossy-mask"
    assert refusal(tmp_path / "float.tiff", BINARY) == "float-mask"
    assert refusal(tmp_path / "wide.tiff", BINARY) == "wide-mask"


def test_exif_rotation_of_a_mask_is_applied_and_said(tmp_path: Path, blob: Mask) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    stored = BytesIO()
    Image.fromarray(blob).save(stored, "PNG", exif=exif)
    (tmp_path / "m.png").write_bytes(stored.getvalue())
    reading = read_mask(tmp_path / "m.png", BINARY)
    assert np.array_equal(reading.mask, np.rot90(blob, -1))
    assert reading.notes[0] == "the EXIF rotation was applied"
