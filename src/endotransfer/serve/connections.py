"""Connections that cost something and ask nothing: closed after a while, or as soon as somebody needs their place."""

import asyncio
import time

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0  # for the lines before a body, from the connection's or the request's first byte
MOST = 100  # a browser opens six


class BoundedProtocol(H11Protocol):
    """HTTP with a limit on the time that headers take and on the number of connections."""

    began = 0.0
    leaving = False
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.began = time.monotonic()
        self._wait_for_headers()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait_for_headers()
        else:
            self._headers_came()

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_came()
        super().connection_lost(exc)

    def idle(self) -> bool:
        """Whether nothing that was asked here is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_headers(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _headers_came(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _make_room(self) -> None:
        """End the connection that has been idle longest where there are too many, or this one where all are at work."""
        staying = [one for one in self.connections if isinstance(one, BoundedProtocol) and not one.leaving]
        if len(staying) > MOST:
            idle = [one for one in staying if one is not self and one.idle()]
            oldest = min(idle, key=lambda one: one.began, default=self)
            oldest.leaving = True
            oldest.transport.abort()
