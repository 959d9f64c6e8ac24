"""Requests that mean harm, made up from a seed: whole bytes as they go over the wire."""

import io
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from urllib.parse import quote

from PIL import Image

TRICKS = [
    "../../../../etc/passwd",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/",
    "....//....//",
    "%00",
    "a%00.png",
    "..\\..\\",
    "C:\\windows\\win.ini",
    "//etc/passwd",
    "%c0%ae%c0%ae/",
    quote("．．／"),
    "a" * 5000,
    "-1",
    "9" * 30,
    "1e9",
    "NaN",
    "%",
    "%zz",
    "{{7*7}}",
    "<script>",
    "'%20OR%201=1",
    quote("\u202e"),
    "file:///etc/passwd",
    "http://evil.example/",
    ".",
    "..",
    "~root",
    "$(id)",
    "%0d%0aX-Evil:%201",
    "con",
    "nul.png",
    "index.html/",
    ";",
    "?token=1",
    "#",
    "*",
    "app.py",
    "__init__.py",
]
PLACES = [
    "/{}",
    "/page/{}",
    "/api/{}",
    "/api/images/{}",
    "/api/images/{}/picture",
    "/api/images/{}/map/0",
    "/api/images/{}/reviewed",
    "/api/images/ID/{}",
    "/api/images/ID/map/{}",
    "/api/runs/{}/propagation/0/1",
    "/api/runs/0/propagation/{}/1",
    "/api/runs/0/propagation/0/{}",
    "/api/images?order={}",
    "/api/sample/estimate?model={}",
    "/health/{}",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "G\x00T"]
FILES = [
    b"PK\x03\x04" + b"\0" * 60,
    b"%PDF-1.7\n",
    b"\x7fELF" + b"\0" * 50,
    b"<html><script>alert(1)</script>",
    b"GIF89a" + b"\1" * 40,
    b"\x80\x04\x95\x10",
    b"II*\x00" + b"\xff" * 64,
    b"MM\x00*" + b"\0" * 64,
    b"RIFF\xff\xff\xff\xffWEBPVP8X" + b"\xff" * 40,
    b"BM" + b"\xff" * 80,
    b"\xff\xd8\xff\xe0" + b"\xff" * 90,
    b"\x89PNG\r\n\x1a\n",
    b"",
    b"\0" * 100_000,
    b"#EXTM3U\nhttp://evil.example/",
]


def bomb(width: int, height: int, kind: int = 2) -> bytes:
    """A PNG of few bytes that says it is enormous."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    text = chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 3_000_000))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + text
        + chunk(b"IDAT", zlib.compress(b"\0" * 99_999))
        + chunk(b"IEND", b"")
    )


@cache
def huge_but_allowed() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (6_000, 6_500), (180, 60, 50)).save(content, "PNG")
    return content.getvalue()


class Hostile:
    """Makes requests for the service on `port`; `image` is an id that exists, `good` a small image file."""

    def __init__(self, seed: int, port: int, image: str, good: bytes) -> None:
        self.random, self.port, self.image, self.good = random.Random(seed), port, image, good
        self.kinds: list[Callable[[], bytes]] = [
            self.path,
            self.path,
            self.upload,
            self.upload,
            self.form,
            self.review,
            self.sample,
            self.header,
            self.wire,
        ]

    def requests(self, count: int) -> Iterator[tuple[bytes, bool]]:
        """(bytes, whether they are a whole request that must be answered)."""
        for number in range(count):
            kind = self.large if number % 100 == 50 else self.random.choice(self.kinds)
            yield kind(), kind not in (self.wire, self.header, self.form)

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "", *lines: str) -> bytes:
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            "X-Endotransfer: page",
            'If-Match: "0"',
            "Connection: close",
        ]
        head += [f"Content-Length: {len(body)}", *([f"Content-Type: {kind}"] if kind else []), *lines]
        return "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + body

    def trick(self) -> str:
        if self.random.random() < 0.3:
            return quote(self.random.randbytes(self.random.randint(1, 40)))
        return self.random.choice(TRICKS)

    def path(self) -> bytes:
        path = self.random.choice(PLACES).replace("ID", self.image).format(self.trick())
        return self.ask(self.random.choice(METHODS) if self.random.random() < 0.3 else "GET", path)

    def content(self) -> bytes:
        pick = self.random.random()
        if pick < 0.35:
            return self.random.choice(FILES)
        if pick < 0.6:
            side = self.random.choice([7_000, 10_001, 40_000, 65_535, 2**31 - 1])
            return bomb(side, self.random.choice([1, side]), self.random.choice([0, 2, 3, 6]))
        if pick < 0.8:
            damaged = bytearray(self.good[: self.random.randint(1, len(self.good))])
            for _ in range(self.random.randint(0, 9)):
                damaged[self.random.randrange(len(damaged))] = self.random.randrange(256)
            return bytes(damaged)
        return self.random.randbytes(self.random.choice([10, 5_000, 400_000]))

    def part(self, name: str, content: bytes, file: str | None) -> bytes:
        named = f'; filename="{file}"' if file is not None else ""
        return f'--b\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + content + b"\r\n"

    def upload(self) -> bytes:
        file = self.random.choice(
            ["a.png", "../../evil.png", "/etc/cron.d/evil", "a\0.png", "x" * 3000, "..\\evil", ""]
        )
        body = self.part("image", self.content(), file) + b"--b--\r\n"
        return self.ask("POST", "/api/uploads", body, "multipart/form-data; boundary=b")

    def large(self) -> bytes:
        """As much as is allowed, or a little more: an image of 39 million pixels that is whole, or 20 MB of nothing."""
        content = self.random.choice([huge_but_allowed(), self.random.randbytes(1000) * 20_050, b"\x89PNG" * 4_900_000])
        body = self.part("image", content, "a.png") + b"--b--\r\n"
        return self.ask("POST", "/api/uploads", body, "multipart/form-data; boundary=b")

    def form(self) -> bytes:
        """Forms that are no forms, or too much of one."""
        many = self.random.choice([5, 60, 3_000])
        bodies: list[Callable[[], bytes]] = [
            lambda: b"".join(self.part(f"f{n}", b"x", None) for n in range(many)) + b"--b--\r\n",
            lambda: b"".join(self.part("image", self.good, f"{n}.png") for n in range(min(many, 60))) + b"--b--\r\n",
            lambda: self.part("review", b"x" * 200_000, None) + b"--b--\r\n",
            lambda: b"--b\r\n" + b"A: b\r\n" * 2_000,
            lambda: self.part("image", self.good, "a.png"),
            lambda: self.random.randbytes(3_000),
            lambda: b"--b\r\n\r\n\r\n--b--",
        ]
        body = self.random.choice(bodies)()
        kind = self.random.choice(
            ["multipart/form-data; boundary=b"] * 4
            + [
                "multipart/form-data",
                "multipart/form-data; boundary=" + "b" * 900,
                "application/json",
                "multipart/mixed; boundary=b",
                "multipart/form-data; boundary=b; charset=rot13",
                "text/plain",
                "multipart/form-data; boundary=\xff",
            ]
        )
        path = self.random.choice(["/api/uploads", f"/api/images/{self.image}/review"])
        return self.ask("PUT" if path.endswith("review") else "POST", path, body, kind)

    def review(self) -> bytes:
        asked = self.random.choice(
            [
                "{",
                "[" * 9_000,
                "null",
                "1e999",
                '{"decision": "accepted"}',
                json.dumps({"decision": "accepted", "who": self.trick()}),
                json.dumps({"decision": self.trick(), "who": "x", "model": 10**30, "replaces": "../x"}),
                "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
            ]
        )
        body = (
            self.part("review", asked.encode("utf-8", "replace"), None)
            + self.part("mask", self.content(), "m")
            + b"--b--\r\n"
        )
        place = self.random.choice([self.image, self.image, self.trick()])
        return self.ask("PUT", f"/api/images/{place}/review", body, "multipart/form-data; boundary=b")

    def sample(self) -> bytes:
        body = self.random.choice(
            [
                b"",
                b"{",
                b"[]",
                b'{"count": -5}',
                b'{"count": 1e308}',
                b'{"count": "30; rm"}',
                b"[" * 50_000,
                b'{"count": 1001}',
                b"\xff\xfe",
            ]
        )
        return self.ask("POST", "/api/sample", body, self.random.choice(["application/json", "text/xml", ""]))

    def header(self) -> bytes:
        line = self.random.choice(
            [
                "Host: evil.example",
                "Content-Length: 5",
                "Content-Length: -1",
                "Transfer-Encoding: chunked",
                "X: " + "y" * 60_000,
                "Cookie: " + "a=b; " * 900,
                "Range: bytes=0-,0-,0-",
                "Expect: 100-continue",
                "Upgrade: websocket",
                "Accept-Encoding: \xff",
                "Authorization: Bearer " + "x" * 999,
                "X-Forwarded-For: 127.0.0.1",
                "Content-Encoding: gzip",
                "Connection: upgrade",
                "\x00: a",
            ]
        )
        lines = [line] * self.random.choice([1, 1, 2, 150])
        return self.ask(self.random.choice(["GET", "POST"]), "/api/about", b"", "", *lines)

    def wire(self) -> bytes:
        """Not even a request."""
        messages: list[Callable[[], bytes]] = [
            lambda: self.random.randbytes(500),
            lambda: b"GET / HTTP/9.9\r\n\r\n",
            lambda: b"GET\r\n\r\n",
            lambda: b"\x16\x03\x01\x02\x00\x01" + b"\0" * 200,
            lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            lambda: self.ask("POST", "/api/uploads", b"x" * 300)[:-200],  # says more than it sends
            lambda: (
                self.ask("POST", "/api/uploads").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
                + b"ffffffffff\r\nx"
            ),
            lambda: self.ask("POST", "/api/uploads").replace(b"Content-Length: 0", b"Content-Length: 99999999999"),
            lambda: self.ask("GET", "/api/about") * 30,
        ]
        return self.random.choice(messages)()
