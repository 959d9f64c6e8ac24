"""One quiet walk over the folder, so that its images can be sorted by what the models say of them."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from endotransfer.errors import EndotransferError
from endotransfer.serve.image_catalogue import CatalogueEntry

GRACE = 0.3  # seconds before the walk begins: the page that asked comes first
_log = logging.getLogger("endotransfer.serve")


class Survey:
    """Calls `look` for every entry, in a thread of its own, and steps aside while a person waits for something."""

    def __init__(
        self,
        entries: Sequence[CatalogueEntry],
        look: Callable[[CatalogueEntry], object],
        somebody_waits: Callable[[], bool],
    ) -> None:
        self._entries, self._look, self._somebody_waits = entries, look, somebody_waits
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.done = 0
        self.unreadable: set[str] = set()  # ids of images that cannot be decoded

    def start(self) -> None:
        """Begin, unless it has begun."""
        with self._lock:
            if self._thread is None and self._entries and not self._stop.is_set():
                self._thread = threading.Thread(target=self._walk, daemon=True)
                self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def progress(self) -> dict[str, int]:
        return {"done": self.done, "total": len(self._entries)}

    def _walk(self) -> None:
        self._stop.wait(GRACE)
        for entry in self._entries:
            while self._somebody_waits() and not self._stop.is_set():
                time.sleep(0.02)
            if self._stop.is_set():
                return
            try:
                self._look(entry)
            except EndotransferError as error:
                self.unreadable.add(entry.id)
                _log.warning("%s", error)
            self.done += 1
