"""A model hub on loopback, as far as huggingface_hub asks it: repositories in memory, one commit each, no accounts.

It speaks HTTP, and the client is the real one (`HF_ENDPOINT`): what is tested is what travels.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

Files = dict[str, bytes]


@dataclass
class Hub:
    """`repositories`: name -> files.  `asked`: every request so far.  `told_sizes` lie about a file's size."""

    port: int
    repositories: dict[str, Files] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    told_sizes: dict[str, int] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def commit(self, name: str) -> str:
        """A name for what the repository holds now."""
        content = b"".join(path.encode() + data for path, data in sorted(self.repositories[name].items()))
        return hashlib.sha1(content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[Hub]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        hub, path = self.hub, urlsplit(self.path).path
        hub.asked.append(f"{self.command} {path}")
        parts = path.strip("/").split("/")
        name = "/".join(parts[2:4]) if parts[0] == "api" else "/".join(parts[:2])
        if name not in hub.repositories:
            self._answer(404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"})
        elif parts[0] != "api":
            self._file(name, "/".join(parts[4:]))
        elif parts[4:5] == ["tree"]:
            files = hub.repositories[name].items()
            told = [(path, hub.told_sizes.get(path, len(data)), data) for path, data in files]
            self._answer(
                200,
                [{"type": "file", "path": p, "size": size, "oid": hashlib.sha1(d).hexdigest()} for p, size, d in told],
            )
        else:
            listed = [{"rfilename": path} for path in hub.repositories[name]]
            self._answer(200, {"id": name, "sha": hub.commit(name), "siblings": listed, "private": False, "tags": []})

    def do_POST(self) -> None:
        hub, path = self.hub, urlsplit(self.path).path
        hub.asked.append(f"POST {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if path == "/api/repos/create":
            raw = json.loads(body)
            name = f"{raw['organization']}/{raw['name']}" if raw.get("organization") else raw["name"]
            hub.repositories.setdefault(name, {})
            self._answer(200, {"url": f"{hub.address}/{name}", "name": name})
            return
        name = "/".join(path.split("/")[3:5])
        if "/preupload/" in path:
            files = [{"path": one["path"], "uploadMode": "regular"} for one in json.loads(body)["files"]]
            self._answer(200, {"files": [one | {"shouldIgnore": False, "oid": None} for one in files]})
        elif "/commit/" in path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    hub.repositories[name][line["value"]["path"]] = content
            commit = hub.commit(name)
            self._answer(200, {"commitUrl": f"{hub.address}/{name}/commit/{commit}", "commitOid": commit})
        else:
            self._answer(200, {})

    def _file(self, name: str, path: str) -> None:
        content = self.hub.repositories[name].get(path)
        if content is None:
            self._answer(404, {}, {"X-Error-Code": "EntryNotFound"})
            return
        tag = hashlib.sha1(content).hexdigest()
        headers = {"X-Repo-Commit": self.hub.commit(name), "ETag": f'"{tag}"'}
        if path in self.hub.told_sizes:
            headers["X-Linked-Size"] = str(self.hub.told_sizes[path])
        self._send(200, content, "application/octet-stream", headers)

    def _answer(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(content).encode(), "application/json", headers or {})

    def _send(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def hub_on_loopback() -> Iterator[Hub]:
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.hub = Hub(server.server_address[1])  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield handler.hub  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
