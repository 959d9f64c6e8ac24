"""Pictures, videos and tables of somebody else's: no minute of decoding, no gigabyte, no cell that runs."""

import io
import shutil
import struct
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.folders.faults import FaultError
from endotransfer.data.read.picture_file import open_picture_file
from endotransfer.data.read.read_image import read_image
from endotransfer.engine.run import evaluate
from endotransfer.engine.run import train as run_training
from endotransfer.errors import DataError
from endotransfer.predict.inputs import list_inputs
from tests.cli.hospital import save_dicom


def with_scans(path: Path, scans: int) -> Path:
    """A progressive JPEG whose last scan is repeated."""
    raw = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (640, 640, 3), dtype=np.uint8)).save(
        raw, "JPEG", progressive=True, quality=20
    )
    content = raw.getvalue()
    last = content.rindex(b"\xff\xda")
    path.write_bytes(content[:last] + content[last:-2] * scans + content[-2:])
    return path


def test_a_jpeg_of_thousands_of_scans_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    path, began = with_scans(tmp_path / "x.jpg", 3000), time.process_time()
    with pytest.raises(FaultError, match=r"has \d+ scans, more than 100"):
        read_image(path)
    assert time.process_time() - began < 2


def test_an_ordinary_progressive_jpeg_is_read(tmp_path: Path) -> None:
    Image.new("RGB", (64, 48), (200, 30, 30)).save(tmp_path / "x.jpg", progressive=True)
    assert read_image(tmp_path / "x.jpg").shape == (48, 64, 3)


def test_a_tiff_of_32_bits_is_refused_not_made_white(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 8), 70_000, np.int32)).save(tmp_path / "deep.tif")
    with pytest.raises(FaultError, match="from 70000 to 70000, more than 16 bits"):
        read_image(tmp_path / "deep.tif")
    Image.fromarray(np.full((8, 8), 60_000, np.int32)).save(tmp_path / "fine.tif")
    assert (read_image(tmp_path / "fine.tif") == 60_000 >> 8).all()


@pytest.mark.parametrize("mode", ["P", "LA", "RGBA", "L"])
def test_strips_convert_as_the_whole_would(mode: str, tmp_path: Path) -> None:
    colours = Image.fromarray(np.random.default_rng(1).integers(0, 255, (600, 30, 4), dtype=np.uint8), "RGBA")
    picture = colours if mode == "RGBA" else colours.convert(mode)
    picture.save(tmp_path / "x.png")
    with Image.open(tmp_path / "x.png") as image:
        whole = image.convert("RGBA")
    black = Image.new("RGBA", whole.size, (0, 0, 0, 255))
    expected = np.asarray(Image.alpha_composite(black, whole).convert("RGB"))
    assert (read_image(tmp_path / "x.png") == expected).all()


def test_copies_of_a_large_picture_stay_small(tmp_path: Path) -> None:
    """What numpy holds beside the decoded file: the result, not a copy of eight bytes a value."""
    Image.fromarray(np.zeros((3000, 3000), np.uint16)).save(tmp_path / "x.png")
    tracemalloc.start()
    read_image(tmp_path / "x.png")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000 * 9


# Not getrusage: its peak is carried over from the process that started this one.
GROWTH = """
import re, sys
from pathlib import Path
from endotransfer.data.read.read_image import read_image

def peak():
    return int(re.search(r"VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1]) / 1000

before = peak()
read_image(Path(sys.argv[1]))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a process tells its own peak in /proc")
@pytest.mark.parametrize(("mode", "most"), [("RGB", 310), ("RGBA", 310), ("P", 200), ("L", 200)])
def test_copies_of_any_large_picture_stay_small(mode: str, most: int, tmp_path: Path) -> None:
    """36 million pixels, 108 MB as a result, beside what the decoder itself needs: four bytes a pixel of colour, or one
    of anything else.  Another copy of the colours would be 144 MB."""
    Image.new(mode, (6000, 6000)).save(tmp_path / "x.png", compress_level=1)
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, tmp_path / "x.png"], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < most


def test_a_title_that_is_no_utf8_does_not_matter(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    from endotransfer.data.read.video_reader import VideoReader

    path = tmp_path / "x.mp4"
    with av.open(str(path), "w", format="mp4") as video:
        video.metadata["title"] = "Darmkrebs XYZ"
        stream = video.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(3):
            for packet in stream.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8))):
                video.mux(packet)
        for packet in stream.encode():
            video.mux(packet)
    content = path.read_bytes()
    assert content.count(b"XYZ") == 1
    path.write_bytes(content.replace(b"XYZ", b"\xfc\xe4\xdf"))
    with VideoReader(path) as reader:
        assert len(list(reader)) == 3


def test_links_that_leave_a_folder_are_not_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "images").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
    (tmp_path / "images" / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DataError, match="no image"):
        list_inputs([tmp_path / "images"])
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / "own.png")
    (tmp_path / "images" / "again.png").symlink_to("own.png")
    assert [one.name for one in list_inputs([tmp_path / "images"])] == ["again", "own"]
    assert "1 links that leave" in capsys.readouterr().err


def test_evaluate_names_a_tag_against_its_mask(make_experiment: Any, study: Path, tmp_path: Path) -> None:
    experiment = make_experiment("tagged", "source_only", data=study, epochs=1, steps_per_epoch=1)
    run_training(experiment, tmp_path / "run")
    table = study / "capsule" / "labels.csv"
    swapped = table.read_text().replace(",lesion,", ",other,").replace(",normal,", ",lesion,")
    table.write_text(swapped.replace(",other,", ",normal,"))
    with pytest.raises(DataError, match=r"is tagged (normal|lesion), but its mask"):
        evaluate(tmp_path / "run", [study / "capsule"])
    assert evaluate(tmp_path / "run", [study / "capsule"], contradictions="keep").images
    shutil.copytree(tmp_path / "run" / "model", tmp_path / "alone")
    with pytest.raises(DataError, match="is tagged"):
        evaluate(tmp_path / "alone", [study / "capsule"])


def with_directories(path: Path, count: int) -> Path:
    """A TIFF of one picture whose directory is repeated."""
    raw = io.BytesIO()
    Image.new("RGB", (16, 16)).save(raw, "TIFF")
    content = bytearray(raw.getvalue())
    (start,) = struct.unpack("<I", content[4:8])
    end = start + 2 + 12 * struct.unpack("<H", content[start : start + 2])[0]
    body, base = bytes(content[start:end]), len(content)
    content[end : end + 4] = struct.pack("<I", base)
    for number in range(1, count):
        following = base + number * (len(body) + 4) if number < count - 1 else 0
        content += body + struct.pack("<I", following)
    path.write_bytes(content)
    return path


def test_the_pictures_of_a_tiff_are_not_counted_without_end(tmp_path: Path) -> None:
    """To count 15,873 of them took 1.8 seconds of a core, and 31,746 took 5.3."""
    path, began = with_directories(tmp_path / "x.tif", 40_000), time.process_time()
    with pytest.raises(FaultError, match="holds several pictures instead of one"):
        read_image(path)
    assert time.process_time() - began < 1
    with pytest.raises(FaultError, match="holds more than 20,000 pictures"):
        open_picture_file(path)
    assert len(open_picture_file(with_directories(tmp_path / "y.tif", 30)).parts) == 30


def test_a_deflated_dicom_file_is_not_inflated_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pydicom = pytest.importorskip("pydicom")
    from endotransfer.data.read import dicom

    save_dicom(tmp_path / "a.dcm", [np.zeros((64, 64, 3), np.uint8)] * 40, "4711")
    dataset = pydicom.dcmread(tmp_path / "a.dcm")
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    dataset.save_as(tmp_path / "b.dcm")
    assert (tmp_path / "b.dcm").stat().st_size < 10_000
    assert len(open_picture_file(tmp_path / "b.dcm").parts) == 40
    monkeypatch.setattr(dicom, "_LARGEST_INFLATED", 100_000)
    monkeypatch.setattr(pydicom, "dcmread", lambda *_, **__: pytest.fail("it was inflated"))
    with pytest.raises(FaultError, match="unpacks to more than"):
        open_picture_file(tmp_path / "b.dcm")


def test_a_jpeg_of_thousands_of_scans_inside_dicom_is_refused(tmp_path: Path) -> None:
    pydicom = pytest.importorskip("pydicom")
    save_dicom(tmp_path / "a.dcm", [np.zeros((640, 640, 3), np.uint8)], "4711")
    dataset = pydicom.dcmread(tmp_path / "a.dcm")
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.JPEGBaseline8Bit
    dataset.PixelData = pydicom.encaps.encapsulate([with_scans(tmp_path / "x.jpg", 300).read_bytes()])
    dataset.save_as(tmp_path / "a.dcm")
    (part,) = open_picture_file(tmp_path / "a.dcm").parts
    with pytest.raises(FaultError, match=r"has \d+ JPEG scans for 1 frames"):
        part.read()
