"""A thousand requests that mean harm against the real service: it answers, keeps to its folders and stays small."""

import io
import re
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.serve.conftest import saved
from tests.serve.hostile import Hostile
from tests.served import Server, serving

COUNT = 1_000
GROWTH = 50_000_000  # bytes of memory
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")


def status_of(port: int, request: bytes, *, whole: bool = True, patience: float = 20) -> int | None:
    """The status that `request` is answered with; None where the connection is just closed.

    After one that is not `whole` the service waits for the rest, so we leave after a moment.
    """
    head = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience if whole else 0.2) as connection:
        try:
            connection.sendall(request)
            while b"\r\n" not in head and (more := connection.recv(4096)):
                head += more
            while connection.recv(65536):
                pass
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            assert not whole or head, "no answer"
        found = re.match(rb"HTTP/1\.1 (\d{3})", head)
        return int(found[1]) if found else None


def files_under(*folders: Path) -> dict[str, bytes]:
    return {
        str(path): b"" if path.is_dir() else path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if "tmp/endotransfer-" not in str(path)
    }


class Pulse(threading.Thread):
    """Asks `/health` all the while."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.server, self.over = server, threading.Event()
        self.seconds: list[float] = []
        self.missed: list[str] = []

    def run(self) -> None:
        while not self.over.wait(0.05):
            began = time.perf_counter()
            try:
                status, _ = self.server.get("/health", timeout=10)
                if status != 200:
                    self.missed.append(str(status))
            except OSError as reason:
                self.missed.append(repr(reason))
            self.seconds.append(time.perf_counter() - began)


def settle(server: Server) -> None:
    """Let the walk over the folder end, so that its memory is not counted as the requests'."""
    server.get("/api/images")
    while b'"done":12' not in server.get("/api/survey")[1]:
        time.sleep(0.1)


def warm_up(server: Server, hostile: Hostile) -> None:
    """What any use costs once: decoders loaded, buffers grown."""
    for request, whole in hostile.requests(60):
        status_of(server.port, request, whole=whole)
    good = hostile.part("image", hostile.good, "a.png") + b"--b--\r\n"
    for _ in range(3):
        assert (
            status_of(server.port, hostile.ask("POST", "/api/uploads", good, "multipart/form-data; boundary=b")) == 201
        )
    for kind in ("picture", "superpixels", "map/0", "truth"):
        assert server.get(f"/api/images/{hostile.image}/{kind}")[0] == 200


def test_a_thousand_hostile_requests(runs: list[Path], folder: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    good = saved(Image.fromarray(random.integers(0, 255, (48, 48, 3), np.uint8)))
    with serving(runs, folder, tmp_path / "home") as server:
        settle(server)
        image = re.findall(rb'"id":"([0-9a-f]+)"', server.get("/api/images")[1])[0].decode()
        hostile = Hostile(6, server.port, image, good)
        warm_up(server, hostile)
        before, memory, pulse = files_under(tmp_path, *runs), server.resident(), Pulse(server)
        pulse.start()
        statuses = [
            (request, status_of(server.port, request, whole=whole)) for request, whole in hostile.requests(COUNT)
        ]
        pulse.over.set()
        pulse.join()
        grown = server.resident() - memory
        after = files_under(tmp_path, *runs)
        uploads = [*(tmp_path / "home" / "tmp").glob("endotransfer-*/*")]
    assert [(request[:200], status) for request, status in statuses if status is not None and status >= 500] == []
    assert pulse.missed == []
    assert len(pulse.seconds) > 20
    assert max(pulse.seconds) < 5, f"/health took {max(pulse.seconds):.1f} s"
    assert grown < GROWTH, f"memory grew by {grown / 1e6:.0f} MB"
    reviewed = str(folder / "reviewed")
    assert {
        path for path, content in after.items() if before.get(path) != content and not path.startswith(reviewed)
    } == set()
    assert {*before} <= {*after}
    assert all(re.fullmatch(r"u[0-9a-f]{24}", path.name) for path in uploads)
    refused = sum(status is None or status >= 400 for _, status in statuses)
    assert refused > 0.8 * COUNT  # they were hostile
    with Image.open(io.BytesIO(good)) as still:
        assert still.size == (48, 48)


def test_a_crowd_is_served_or_asked_to_wait(runs: list[Path], folder: Path, tmp_path: Path) -> None:
    large = saved(Image.fromarray(np.zeros((3000, 3000, 3), np.uint8)))
    with serving(runs[:1], folder, tmp_path / "home") as server:
        settle(server)
        hostile = Hostile(0, server.port, "", large)
        body = hostile.part("image", large, "a.png") + b"--b--\r\n"
        request = hostile.ask("POST", "/api/uploads", body, "multipart/form-data; boundary=b")
        statuses: list[int | None] = []
        crowd = [threading.Thread(target=lambda: statuses.append(status_of(server.port, request))) for _ in range(40)]
        for one in crowd:
            one.start()
        assert server.get("/health", timeout=10)[0] == 200
        for one in crowd:
            one.join()
        assert {*statuses} <= {201, 429}
        assert 201 in statuses
