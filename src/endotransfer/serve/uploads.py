"""Images that a person drops on the page: checked before they are decoded, stored under names of ours, not for ever."""

import secrets
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Request
from starlette.datastructures import UploadFile

from endotransfer.batch import Sample
from endotransfer.data.folders.faults import FaultError
from endotransfer.data.read.image_limits import MAX_PARTS, MAX_UPLOAD_BYTES
from endotransfer.serve.answers import Refusal, refuse_fault
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.pictures import read_shown
from endotransfer.serve.turns import Turns

MOST = 100  # uploads on disk; the oldest is forgotten first
ROOM = 400_000_000  # bytes of the disk for all of them
SCAN = b"\xff\xda"  # begins a scan of a JPEG; never inside one, where 0xff is followed by 0
MOST_SCANS = 100  # a progressive file has about ten; each is a pass over the whole image, however few its bytes


@asynccontextmanager
async def form_file(request: Request, name: str, places: Turns) -> AsyncIterator[tuple[bytes, dict[str, str]]]:
    """The file called `name` of a form with at most one file, and its other fields, while there is a place for it.

    A form takes its place when it has come: until then it lies in at most a megabyte of memory and a temporary file, so
    that senders who let theirs drip keep nobody waiting.
    """
    async with request.form(max_files=1, max_fields=MAX_PARTS - 1, max_part_size=20_000) as form:
        file = form.get(name)
        if not isinstance(file, UploadFile):
            raise Refusal(400, "no-file", f"the request holds no file called {name}.")
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
        async with places.place():
            content = await file.read(MAX_UPLOAD_BYTES + 1)
            if len(content) > MAX_UPLOAD_BYTES:
                raise Refusal(413, "too-large", f"at most {MAX_UPLOAD_BYTES // 1_000_000} MB are taken.")
            yield content, fields


class Uploads:
    """A temporary folder of the service, removed when it stops."""

    def __init__(self, forget: Callable[[CatalogueEntry], None], most: int = MOST, room: int = ROOM) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="endotransfer-"))
        self._entries: OrderedDict[str, tuple[CatalogueEntry, int]] = OrderedDict()
        self._forget, self._most, self._room = forget, most, room
        self._lock = threading.Lock()

    def find(self, image: str) -> CatalogueEntry | None:
        found = self._entries.get(image)
        return found[0] if found else None

    def add(self, content: bytes) -> CatalogueEntry:
        """Take an image in; refused where it is none, too large by its own header, or damaged."""
        name = f"u{secrets.token_hex(12)}"
        path = self._folder / name
        if content.count(SCAN) > MOST_SCANS:
            raise Refusal(
                400, "too-many-scans", f"the JPEG has over {MOST_SCANS} scans; save it again as another file."
            )
        path.write_bytes(content)
        try:
            read_shown(path)  # the header against the limits first, then every pixel: a damaged file is told now
        except FaultError as error:
            path.unlink()
            raise refuse_fault(error) from None
        entry = CatalogueEntry(name, name, Sample(f"upload/{name}", path), uploaded=True)
        with self._lock:
            self._entries[name] = (entry, len(content))
            while len(self._entries) > self._most or sum(size for _, size in self._entries.values()) > self._room:
                _, (oldest, _) = self._entries.popitem(last=False)
                oldest.sample.image.unlink(missing_ok=True)
                self._forget(oldest)
        return entry

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
