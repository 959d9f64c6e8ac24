"""Pictures of forty million pixels in small files: the viewer's memory stays within the figure that its docs state."""

import io
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from tests.serve.hostile import Hostile
from tests.serve.test_hostile import settle, status_of
from tests.served import serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
PAGE = Path(__file__).parents[2] / "docs" / "viewer.md"


def large_pictures() -> list[bytes]:
    """The dearest to decode: WebP, whose library keeps several copies, a turned progressive JPEG, a plain PNG."""
    turned = Image.Exif()
    turned[0x0112] = 6
    picture, found = Image.new("RGB", (8000, 5000), (120, 40, 30)), []
    for name, options in (
        ("WEBP", {"lossless": True, "method": 0}),
        ("JPEG", {"progressive": True, "exif": turned}),
        ("PNG", {}),
    ):
        content = io.BytesIO()
        picture.save(content, name, **options)
        found.append(content.getvalue())
    return found


def test_pictures_sent_at_once_stay_within_the_stated_figure(runs: list[Path], folder: Path, tmp_path: Path) -> None:
    stated = re.search(r"at most ([\d,]+) MB beyond what it holds at rest", PAGE.read_text().replace("\n", " "))
    assert stated is not None
    pictures = large_pictures()
    assert all(len(content) < 1_000_000 for content in pictures)
    with serving(runs, folder, tmp_path / "home") as server:
        settle(server)
        image = re.findall(rb'"id":"([0-9a-f]+)"', server.get("/api/images")[1])[0].decode()
        hostile = Hostile(0, server.port, image, b"")
        status = Path(f"/proc/{server.process.pid}/status")
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")  # the peak is measured from here
        rest = server.resident()
        forms = [hostile.part("image", content, "a.png") + b"--b--\r\n" for content in pictures]
        requests = [hostile.ask("POST", "/api/uploads", form, "multipart/form-data; boundary=b") for form in forms]
        with ThreadPoolExecutor() as pool:
            asked = [pool.submit(status_of, server.port, request, patience=90) for request in requests]
            assert [one.result() for one in asked] == [201, 201, 201]
        peak = 1024 * int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0])
    assert peak - rest < 1e6 * int(stated[1].replace(",", "")), f"{(peak - rest) / 1e6:.0f} MB"
