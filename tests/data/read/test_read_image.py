"""Reading images: every kind of pixel comes out as upright RGB, every bad file as one sentence."""

import os
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.faults import FaultError
from endotransfer.data.read.read_image import image_size, read_image, read_image_and_notes
from endotransfer.errors import DataError

Photo = Callable[[int], NDArray[np.uint8]]


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds hardly any pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


def code_of(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_image(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, FaultError)
    assert caught.value.fault is not None
    return caught.value.fault.code


@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "webp"])
def test_lossless_formats_come_back_exactly(tmp_path: Path, photo: Photo, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    options: dict[str, Any] = {"lossless": True} if suffix == "webp" else {}
    Image.fromarray(photo(0)).save(path, **options)
    reading = read_image_and_notes(path)
    assert np.array_equal(reading.pixels, photo(0))
    assert reading.notes == ()


def test_format_is_decided_by_content_not_name(tmp_path: Path, photo: Photo) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(photo(0)).save(path, format="BMP")
    assert read_image_and_notes(path).format == "BMP"


UPRIGHT: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].transpose(1, 0, 2),
    8: lambda a: np.rot90(a, 1),
}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_exif_rotation_is_applied_to_pixels_and_size(
    tmp_path: Path, photo: Photo, orientation: int, suffix: str
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(photo(0)).save(path, exif=exif)
    reading = read_image_and_notes(path)
    assert np.array_equal(reading.pixels, UPRIGHT[orientation](photo(0)))
    assert image_size(path) == reading.pixels.shape[:2]
    assert bool(reading.notes) == (orientation != 1)


@pytest.mark.parametrize(("top", "shift"), [(200, 0), (1000, 2), (4095, 4), (16000, 6), (65535, 8)])
def test_sixteen_bits_keep_the_highest_bits_in_use(tmp_path: Path, top: int, shift: int) -> None:
    values = np.linspace(0, top, 12, dtype=np.uint16).reshape(3, 4)
    Image.fromarray(values).save(tmp_path / "a.png")
    reading = read_image_and_notes(tmp_path / "a.png")
    assert np.array_equal(reading.pixels[..., 1], values >> shift)
    assert "scaled to 8 bits" in reading.notes[0]


def test_grey_palette_and_black_and_white_become_rgb(tmp_path: Path, photo: Photo) -> None:
    for mode, word in (("L", "grey"), ("P", "palette"), ("1", "black and white"), ("CMYK", "CMYK")):
        picture = Image.fromarray(photo(0)).convert(mode)
        path = tmp_path / f"{mode}.tiff"
        picture.save(path)
        reading = read_image_and_notes(path)
        assert np.array_equal(reading.pixels, np.array(picture.convert("RGB")))
        assert word in reading.notes[0]


def test_transparent_parts_lie_on_black(tmp_path: Path, photo: Photo) -> None:
    alpha = np.full(photo(0).shape[:2], 255, np.uint8)
    alpha[:10] = 0
    Image.fromarray(np.dstack([photo(0), alpha])).save(tmp_path / "a.png")
    reading = read_image_and_notes(tmp_path / "a.png")
    assert not reading.pixels[:10].any()
    assert np.array_equal(reading.pixels[10:], photo(0)[10:])
    assert "black" in reading.notes[0]


def test_decimal_numbers_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.ones((4, 4), np.float32)).save(tmp_path / "a.tiff")
    assert code_of(tmp_path / "a.tiff") == "float-image"


def test_truncated_files_are_named(tmp_path: Path, photo: Photo) -> None:
    for suffix in ("png", "jpg", "tiff"):
        whole = BytesIO()
        Image.fromarray(photo(0)).save(whole, {"jpg": "JPEG"}.get(suffix, suffix))
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(whole.getvalue()[: len(whole.getvalue()) // 2])
        assert code_of(path) in ("damaged", "not-an-image")


def test_zero_bytes_text_gif_folder_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "zero.png").touch()
    (tmp_path / "text.png").write_text("hello")
    Image.new("RGB", (8, 8)).save(tmp_path / "gif.png", format="GIF")
    (tmp_path / "folder.png").mkdir()
    found = [code_of(tmp_path / f"{name}.png") for name in ("zero", "text", "gif", "folder", "nothing")]
    assert found == ["empty-file", "not-an-image", "not-an-image", "not-a-file", "no-file"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes in a folder exist on Unix only")
def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    assert code_of(tmp_path / "pipe.png") == "not-a-file"


@pytest.mark.parametrize("size", [(60_000, 60_000), (9_500, 9_500), (7_000, 6_000), (10_001, 1), (1, 10_001)])
def test_bombs_are_refused_from_the_header(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "bomb.png").write_bytes(png_header(*size))
    assert code_of(tmp_path / "bomb.png") == "too-large"
    with pytest.raises(DataError, match=r"bomb\.png"):
        image_size(tmp_path / "bomb.png")


def test_several_frames_are_refused(tmp_path: Path, photo: Photo) -> None:
    frames = [Image.fromarray(photo(seed)) for seed in range(3)]
    for suffix in ("tiff", "png", "webp"):
        path = tmp_path / f"a.{suffix}"
        frames[0].save(path, save_all=True, append_images=frames[1:])
        assert code_of(path) == "several-frames"


def test_no_permission_is_named(tmp_path: Path, photo: Photo, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    path = tmp_path / "a.png"
    Image.fromarray(photo(0)).save(path)
    monkeypatch.setattr(Image, "open", refuse)  # the superuser of a container may read everything
    assert code_of(path) == "no-permission"


def test_an_error_survives_being_rebuilt_from_its_text() -> None:
    assert str(FaultError("a.png: is bad; mend it.")) == "a.png: is bad; mend it."


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["PNG", "JPEG", "TIFF", "BMP", "WEBP"]), st.randoms(use_true_random=False), st.integers(1, 12))
def test_damaged_files_give_pixels_or_one_error(tmp_path: Path, kind: str, random: object, changes: int) -> None:
    import random as library

    assert isinstance(random, library.Random)
    whole = BytesIO()
    Image.fromarray(np.arange(768, dtype=np.uint8).reshape(16, 16, 3)).save(whole, kind)
    data = bytearray(whole.getvalue())
    for _ in range(changes):
        data[random.randrange(len(data))] = random.randrange(256)
    (tmp_path / "a.png").write_bytes(bytes(data))
    try:
        assert read_image(tmp_path / "a.png").dtype == np.uint8
    except DataError as error:
        assert "a.png" in str(error)
