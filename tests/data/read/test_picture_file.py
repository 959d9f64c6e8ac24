"""Files with several pictures, or in formats that only an import reads: every picture comes out as it went in."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.read.dicom import hashed_patient, read_dicom_header
from endotransfer.data.read.picture_file import PictureFile, open_picture_file
from endotransfer.errors import ConfigError, DataError
from tests.cli.hospital import photo, save_dicom, save_video

Pixels = NDArray[np.uint8]
FRAMES = [photo(seed) for seed in range(3)]


def pixels(opened: PictureFile) -> list[Pixels]:
    return [part.read().pixels for part in opened.parts]


def test_pages_of_a_tiff_are_images(tmp_path: Path) -> None:
    pages = list(map(Image.fromarray, FRAMES))
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:])
    opened = open_picture_file(tmp_path / "a.tif")
    assert [part.name for part in opened.parts] == ["p0001", "p0002", "p0003"]
    np.testing.assert_array_equal(pixels(opened), FRAMES)


def test_a_tiff_of_one_page_is_one_image(tmp_path: Path) -> None:
    Image.fromarray(FRAMES[0]).save(tmp_path / "a.tif")
    assert [part.name for part in open_picture_file(tmp_path / "a.tif").parts] == [""]


def test_frames_of_a_gif_are_images(tmp_path: Path) -> None:
    greys = [Image.fromarray(frame[..., 0]) for frame in FRAMES]
    greys[0].save(tmp_path / "a.gif", save_all=True, append_images=greys[1:])
    for found, frame in zip(pixels(open_picture_file(tmp_path / "a.gif")), FRAMES, strict=True):
        np.testing.assert_array_equal(found[..., 0], frame[..., 0])


def test_heic_is_read(tmp_path: Path) -> None:
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    Image.fromarray(FRAMES[0]).save(tmp_path / "a.HEIC", quality=95)
    (found,) = pixels(open_picture_file(tmp_path / "a.HEIC"))
    assert np.abs(found.astype(int) - FRAMES[0]).mean() < 6


@pytest.mark.parametrize("frames", [FRAMES[:1], FRAMES])
def test_dicom_frames_are_images(tmp_path: Path, frames: list[Pixels]) -> None:
    save_dicom(tmp_path / "a", frames, "4711")  # without an ending, as archives write them
    np.testing.assert_array_equal(pixels(open_picture_file(tmp_path / "a")), frames)


@pytest.mark.parametrize("syntax", ["RLELossless", "JPEG2000Lossless"])
def test_compressed_dicom_is_read(tmp_path: Path, syntax: str) -> None:
    save_dicom(tmp_path / "a.dcm", FRAMES, "4711")
    pydicom = pytest.importorskip("pydicom")
    if syntax == "JPEG2000Lossless":
        pytest.importorskip("openjpeg")
    dataset = pydicom.dcmread(tmp_path / "a.dcm")
    dataset.compress(getattr(pydicom.uid, syntax))
    dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
    np.testing.assert_array_equal(pixels(open_picture_file(tmp_path / "a.dcm")), FRAMES)


def test_a_compression_that_nothing_here_reads_is_named(tmp_path: Path) -> None:
    pydicom = pytest.importorskip("pydicom")
    save_dicom(tmp_path / "a.dcm", FRAMES[:1], "4711")
    dataset = pydicom.dcmread(tmp_path / "a.dcm")
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.UID("1.2.840.10008.1.2.4.94")
    dataset.PixelData = pydicom.encaps.encapsulate([b"1234"])
    dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
    with pytest.raises(DataError, match=r"a\.dcm: is compressed in a way that cannot be read here \(JPIP Referenced\)"):
        pixels(open_picture_file(tmp_path / "a.dcm"))


def test_jpeg_inside_dicom_is_read(tmp_path: Path) -> None:
    pydicom = pytest.importorskip("pydicom")
    save_dicom(tmp_path / "a.dcm", FRAMES[:1], "4711")
    Image.fromarray(FRAMES[0]).save(tmp_path / "a.jpg", quality=95, subsampling=0)
    dataset = pydicom.dcmread(tmp_path / "a.dcm")
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.JPEGBaseline8Bit
    dataset.PhotometricInterpretation = "YBR_FULL_422"
    dataset.PixelData = pydicom.encaps.encapsulate([(tmp_path / "a.jpg").read_bytes()])
    dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
    (found,) = pixels(open_picture_file(tmp_path / "a.dcm"))
    assert np.abs(found.astype(int) - FRAMES[0]).mean() < 4


def test_grey_dicom_of_twelve_bits_keeps_its_upper_eight(tmp_path: Path) -> None:
    pydicom = pytest.importorskip("pydicom")
    save_dicom(tmp_path / "a.dcm", FRAMES[:1], "")
    dataset = pydicom.dcmread(tmp_path / "a.dcm")
    values = FRAMES[0][..., 0].astype(np.uint16) << 4
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME1"
    dataset.BitsAllocated, dataset.BitsStored, dataset.HighBit = 16, 12, 11
    del dataset.PlanarConfiguration
    dataset.PixelData = values.tobytes()
    dataset.save_as(tmp_path / "a.dcm", enforce_file_format=True)
    (found,) = pixels(open_picture_file(tmp_path / "a.dcm"))
    np.testing.assert_array_equal(found[..., 0], 255 - FRAMES[0][..., 0])  # MONOCHROME1: the lowest value is white


def test_the_patient_of_dicom_is_hashed(tmp_path: Path) -> None:
    for name, patient in (("a", "4711"), ("b", "4711"), ("c", "4712"), ("d", "")):
        save_dicom(tmp_path / name, FRAMES[:1], patient)
    a, b, c, d = (hashed_patient(read_dicom_header(tmp_path / name)) for name in "abcd")
    assert a == b != c and "4711" not in a and d == ""


def test_frames_of_a_video_by_rate_and_by_change(tmp_path: Path) -> None:
    shown = [FRAMES[0]] * 4 + [255 - FRAMES[1]] * 4
    save_video(tmp_path / "a.mp4", shown, rate=2)
    assert [part.name for part in open_picture_file(tmp_path / "a.mp4", "1").parts] == [
        f"f{n:06}" for n in (0, 2, 4, 6)
    ]
    by_change = open_picture_file(tmp_path / "a.mp4", "change")
    assert [part.name for part in by_change.parts] == ["f000000", "f000004"]
    for found, frame in zip(pixels(by_change), (shown[0], shown[4]), strict=True):
        assert np.abs(found.astype(int) - frame).mean() < 12
    assert len(pixels(PictureFile(by_change.parts[::-1]))) == 2  # also in another order
    with pytest.raises(ConfigError, match=r"give frames a second, such as 1 or 0\.5, or `change`"):
        open_picture_file(tmp_path / "a.mp4", "often")


@pytest.mark.parametrize(
    ("ending", "module", "extra"),
    [("dcm", "pydicom", "dicom"), ("heic", "pillow_heif", "heic"), ("mp4", "av", "video")],
)
def test_what_is_missing_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, module: str, extra: str
) -> None:
    (tmp_path / f"a.{ending}").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=rf"not installed; install endotransfer\[{extra}\]\.$"):
        open_picture_file(tmp_path / f"a.{ending}")


@pytest.mark.parametrize("ending", ["dcm", "heic", "mp4", "gif", "tif"])
def test_a_broken_file_is_one_sentence(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"a.{ending}").write_bytes(b"no picture at all" * 20)
    with pytest.raises(DataError, match=rf"a\.{ending}: "):
        pixels(open_picture_file(tmp_path / f"a.{ending}"))
