"""Slow and idle clients: headers have a limit of time, connections one of number, and dripping forms no place."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from endotransfer.serve import connections
from endotransfer.serve.answers import Refusal
from endotransfer.serve.connections import BoundedProtocol
from endotransfer.serve.security import AccessControl
from endotransfer.serve.turns import Turns
from endotransfer.serve.uploads import MOST_SCANS, SCAN, Uploads, form_file
from tests.serve.conftest import png

OWN = "X-Endotransfer: page\r\n"


class Forms:
    """A form goes in, its length comes out."""

    def __init__(self) -> None:
        self.places = Turns(parallel=1, waiting=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            answer: Response = JSONResponse("here")
        else:
            try:
                async with form_file(Request(scope, receive), "mask", self.places) as (content, _):
                    answer = JSONResponse(len(content))
            except Refusal as refusal:
                answer = JSONResponse(refusal.code, refusal.status)
        await answer(scope, receive, send)


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.5)
    monkeypatch.setattr(connections, "MOST", 12)
    config = uvicorn.Config(AccessControl(Forms()), port=0, http=BoundedProtocol, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(10)


def here(port: int) -> object:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    connection.request("GET", "/")
    return json.loads(connection.getresponse().read())


def closed(connection: socket.socket, within: float) -> bool:
    connection.settimeout(within)
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0"])
def test_headers_that_never_come_end_the_connection(port: int, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(sent)
        assert not closed(slow, 0.2)
        assert closed(slow, 2)


def test_a_drip_of_headers_is_ended_on_a_connection_that_was_used_too(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        slow.settimeout(2)
        while not slow.recv(4000).endswith(b'"here"'):
            pass
        start = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() < start + 3:
                slow.sendall(b"G")
                time.sleep(0.1)
        assert time.monotonic() - start < 2


def test_idle_connections_make_room_for_those_who_ask(port: int) -> None:
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
    try:
        for _ in range(5):
            assert here(port) == "here"
        assert sum(closed(one, 0.01) for one in idle) >= 25  # the oldest ones
    finally:
        for one in idle:
            one.close()


def test_dripping_forms_take_no_place_from_others(port: int) -> None:
    head = f"PUT / HTTP/1.1\r\nHost: 127.0.0.1\r\n{OWN}Content-Type: multipart/form-data; boundary=b\r\n"
    part = b'--b\r\nContent-Disposition: form-data; name="mask"; filename="m"\r\n\r\n'
    dripping = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
    try:
        for one in dripping:
            one.sendall(f"{head}Content-Length: 1000\r\n\r\n".encode() + part)
        time.sleep(0.2)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
        kind = {"X-Endotransfer": "page", "Content-Type": "multipart/form-data; boundary=b"}
        connection.request("PUT", "/", part + b"12345\r\n--b--\r\n", kind)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())) == (200, 5)
    finally:
        for one in dripping:
            one.close()


def test_a_jpeg_of_very_many_scans_is_not_decoded() -> None:
    uploads = Uploads(lambda _: None)
    try:
        assert uploads.add(png(np.zeros((4, 4, 3))))
        with pytest.raises(Refusal, match="scans"):
            uploads.add(b"\xff\xd8" + SCAN * (MOST_SCANS + 1))
    finally:
        uploads.close()
