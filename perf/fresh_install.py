"""From a wheel to a first mask, in an environment that has nothing else: `python -m perf.fresh_install IMAGE`.

Builds the wheel, makes an environment outside the repository, installs with the extra `serve`, predicts IMAGE with the
shipped model, opens the viewer in Chromium and drops IMAGE on it; with `--demo` runs the demo too.  One JSON line a
step, in seconds; needs hatchling and playwright where it is started, and an index to install from.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
MODEL = "polyp"
WHOLE, FIRST = 300, 3  # seconds: everything but the demo, and the first prediction


@contextmanager
def timed(step: str, took: dict[str, float], most: float | None = None) -> Iterator[None]:
    began = time.perf_counter()
    yield
    took[step] = round(time.perf_counter() - began, 2)
    held = {} if most is None else {"at_most": most, "holds": took[step] <= most}
    print(json.dumps({"step": step, "seconds": took[step], **held}), flush=True)


def run(*command: object, cwd: Path) -> str:
    """The output of a command in an environment of its own: nothing of this repository is on its path."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def look_at_it(address: str, image: Path, picture: Path) -> None:
    """The page in Chromium: IMAGE is given to it, and its mask must appear."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("ENDOTRANSFER_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(address)
        page.set_input_files("#files", str(image))
        with page.expect_response(lambda answer: "/map" in answer.url and answer.ok, timeout=60_000):
            pass
        page.wait_for_timeout(500)
        page.screenshot(path=str(picture))
        browser.close()


def serve_and_look(program: Path, home: Path, image: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(program), "serve", MODEL, "--port", str(port), "--no-browser"]
    process = subprocess.Popen(command, cwd=home, env=clean)
    try:
        for _ in range(600):
            try:
                urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        look_at_it(f"http://127.0.0.1:{port}/", image, home / "viewer.png")
    finally:
        process.terminate()
        process.wait(20)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("image", type=Path)
    options.add_argument("--demo", action="store_true", help="also run the demo, which takes some minutes")
    options.add_argument("--keep", type=Path, help="work here, and leave it")
    given = options.parse_args()
    home = given.keep or Path(tempfile.mkdtemp(prefix="endotransfer-fresh-"))
    home.mkdir(parents=True, exist_ok=True)
    image, took = given.image.resolve(), dict[str, float]()
    with timed("build the wheel", took):
        name = run(sys.executable, "-c", BUILD, home, cwd=ROOT).split()[-1]
    with timed("make the environment", took):
        run(sys.executable, "-m", "venv", home / "env", cwd=home)
    program, pip = home / "env" / "bin" / "endotransfer", home / "env" / "bin" / "pip"
    with timed("install", took):
        run(pip, "install", "--quiet", "-c", ROOT / "constraints.txt", f"{home / name}[serve]", cwd=home)
    with timed("list the models", took):
        print(run(program, "models", cwd=home))
    with timed("first prediction", took, FIRST):
        print(run(program, "predict", MODEL, image, "--out", "first", cwd=home))
    with timed("second prediction", took, FIRST):
        run(program, "predict", MODEL, image, "--out", "second", cwd=home)
    with timed("viewer: start, open, predict what is dropped on it", took):
        serve_and_look(program, home, image)
    total = sum(seconds for step, seconds in took.items() if step != "build the wheel")
    print(json.dumps({"step": "everything", "seconds": round(total, 1), "at_most": WHOLE, "holds": total <= WHOLE}))
    if given.demo:
        with timed("demo", took):
            print(run(program, "demo", "--out", "demo-out", cwd=home))
    if given.keep is None:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
