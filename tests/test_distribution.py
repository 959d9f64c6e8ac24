"""What is installed: a wheel that is complete, and a demo that brings no tools of development."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "endotransfer"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; `make install` brings it")
    out = tmp_path_factory.mktemp("wheel")
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(out)], cwd=ROOT, check=True, capture_output=True)
    return ZipFile(next(out.glob("*.whl")))


def test_the_wheel_holds_every_file_of_the_package(wheel: ZipFile) -> None:
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    wanted = {path.relative_to(PACKAGE.parent).as_posix() for path in files}
    assert wanted - {*wheel.namelist()} == set()
    for name in ("recipes/phantom.yaml", "serve/page/index.html", "report/assets/page.css", "py.typed"):
        assert f"endotransfer/{name}" in wanted


def test_the_wheel_stays_small_with_the_models_in_it(wheel: ZipFile) -> None:
    sizes = {one.filename: one.file_size for one in wheel.infolist() if "/pretrained/" in one.filename}
    assert sum(sizes.values()) <= 12e6
    assert sum(one.compress_size for one in wheel.infolist()) <= 16e6
    photographs = [name for name in sizes if Path(name).suffix.lower() in (".jpg", ".jpeg", ".tif", ".bmp")]
    assert photographs == []


def test_what_the_wheel_holds_predicts(wheel: ZipFile, tmp_path: Path) -> None:
    """Its own files, unpacked elsewhere: by name, and with no network."""
    wheel.extractall(tmp_path / "site")
    Image.new("RGB", (320, 256), (160, 70, 60)).save(tmp_path / "image.jpg")
    closed = {"PYTHONPATH": str(tmp_path / "site"), "HF_ENDPOINT": "http://127.0.0.1:9", "OMP_NUM_THREADS": "1"}
    for arguments in (["predict", "polyp", "image.jpg"], ["models"]):
        command = [sys.executable, "-m", "endotransfer", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | closed, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "polyp" in done.stdout and "cc-by-4.0" in done.stdout and "PolypGen" in done.stdout
    with Image.open(tmp_path / "predicted" / "masks" / "image.png") as mask:
        assert mask.size == (320, 256)


def test_the_wheel_says_what_it_runs_on(wheel: ZipFile) -> None:
    metadata = next(name for name in wheel.namelist() if name.endswith("METADATA"))
    lines = wheel.read(metadata).decode().splitlines()
    for version in ("3.11", "3.12", "3.13"):
        assert f"Classifier: Programming Language :: Python :: {version}" in lines
    needed = [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert not [line for line in needed if "pytest" in line or "playwright" in line or "pandas" in line]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_the_demo_installs_no_tools_of_development(tmp_path: Path) -> None:
    command = ["make", "--dry-run", "demo", f"VENV={tmp_path / 'venv'}"]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "-e '.[serve]'" in said
    assert "dev" not in said.replace("/dev/null", "")
    assert "playwright" not in said
