"""Bytes that were costly to make, cached as long as there is room: the least recently used go first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

ROOM = 32_000_000  # bytes


class LruCache:
    """A small cache.  Safe to use from several threads; two that ask for the same thing may both make it."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._things: OrderedDict[Hashable, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, name: Hashable) -> bytes | None:
        with self._lock:
            if name in self._things:
                self._things.move_to_end(name)
            return self._things.get(name)

    def put(self, name: Hashable, content: bytes) -> None:
        with self._lock:
            self._size += len(content) - len(self._things.pop(name, b""))
            self._things[name] = content
            while self._size > self._room:
                self._size -= len(self._things.popitem(last=False)[1])

    def get_or_make(self, name: Hashable, make: Callable[[], bytes]) -> bytes:
        content = self.get(name)
        if content is None:
            content = make()
            self.put(name, content)
        return content
