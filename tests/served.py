"""The viewer as a person starts it: a process of its own, two tiny models, a folder of images."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import endotransfer
from endotransfer.engine.run import train
from endotransfer.testing.fixtures import MakeExperiment


def train_two(root: Path, make_experiment: MakeExperiment) -> list[Path]:
    """`robust` (with pseudo-labels) and `source`, a few steps each."""
    train(make_experiment("tagged", "tag_transfer"), root / "robust")
    train(make_experiment("tagged", "source_only", epochs=1), root / "source")
    return [root / "robust", root / "source"]


@dataclass
class Server:
    port: int
    process: "subprocess.Popen[bytes]"
    run: Path  # the first

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def get(self, path: str, timeout: float = 20) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def resident(self) -> int:
        """Bytes of memory that the process holds now."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def processor_time(self) -> float:
        """Seconds of a core that the process has used, all its threads together."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(
    runs: list[Path], images: Path | None, home: Path, prompt_model: Path | None = None, **environment: str
) -> Iterator[Server]:
    """Start `endotransfer serve`, wait until it answers, and end it afterwards.  It lives in `home`."""
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "endotransfer.cli.main",
        "serve",
        *map(str, runs),
        "--port",
        str(port),
        "--no-browser",
    ]
    command += ["--images", str(images)] if images else []
    command += ["--prompt-model", str(prompt_model)] if prompt_model else []
    source = str(Path(endotransfer.__file__).parents[1])
    ours: dict[str, Any] = {
        "PYTHONPATH": source,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "OMP_NUM_THREADS": "1",
    }
    process = subprocess.Popen(command, cwd=home, env=os.environ | ours | environment)
    server = Server(port, process, runs[0])
    try:
        _wait(server)
        yield server
    finally:
        process.terminate()
        process.wait(120)


def answers(port: int) -> bool:
    """Whether a viewer is up on `port`."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False


def _wait(server: Server) -> None:
    for _ in range(3000):  # five minutes: a machine may be busy
        try:
            if server.get("/health")[0] == 200:
                return
        except OSError:
            if server.process.poll() is not None:
                break
            time.sleep(0.1)
    raise AssertionError("the viewer does not start")
