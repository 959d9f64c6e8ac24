"""Who may ask, how much, and what a browser may do with the answer.  Wraps the whole application."""

import asyncio
import hmac
import logging
import re
import time
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from endotransfer.data.read.image_limits import MAX_UPLOAD_BYTES
from endotransfer.serve.answers import answer
from endotransfer.serve.loopback import is_loopback

MAX_BODY = MAX_UPLOAD_BYTES + 100_000  # a file and the few lines around it
BODY_SECONDS = 30.0  # between two pieces of a body; a sender that is slower is given up
WHOLE_BODY_SECONDS = 120.0
GRACE_SECONDS = 15.0  # after which a body must have come faster than SLOWEST on average
SLOWEST = 10_000.0  # bytes a second
COOKIE = "endotransfer-token"
OWN_HEADER = "x-endotransfer"  # no other site can send it without asking first, and nobody is told yes
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_LOCAL_NAMES = {"localhost", "127.0.0.1", "[::1]"}
_log = logging.getLogger("endotransfer.serve")


class AccessControl:
    """Loopback alone, or a token; bodies bounded in size and time; headers on every answer; no internals in any."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer_once = _Headed(send)
        refusal = self._refusal(scope)
        try:
            if refusal is None:
                await self.app(scope, _bounded(receive), answer_once)
        except ClientDisconnect:
            return  # nobody is left to be told
        except _TooMuch:
            refusal = _too_large()
        except TimeoutError:
            refusal = answer(408, "too-slow", "the request came too slowly.")
        except Exception:
            _log.exception("a request failed")
            refusal = answer(500, "internal", "the service made a mistake; the terminal has the details.")
        if refusal is not None and not answer_once.started:
            await refusal(scope, receive, answer_once)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why this request goes no further, or None."""
        headers = Headers(scope=scope)
        if _declared(headers) > MAX_BODY:
            return _too_large()
        if scope["path"] == "/health":
            return None
        if self.token is None:
            if not (is_loopback((scope.get("client") or ("",))[0]) and _names_this_machine(headers)):
                return answer(403, "not-local", "this service answers only on its own machine.")
        elif not self._knows_token(headers):
            return self._take_token(scope)
        if scope["method"] not in ("GET", "HEAD") and OWN_HEADER not in headers:
            return answer(403, "foreign", "changes are taken only from the service's own page.")
        return None

    def _knows_token(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._right(given.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._right(cookie.value)

    def _take_token(self, scope: Scope) -> Response:
        """`/?token=...`, as printed in the terminal, becomes a cookie; the address bar forgets it."""
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["path"] != "/" or scope["method"] != "GET" or not self._right(given):
            return answer(401, "no-token", "open the address that was printed in the terminal.")
        response = RedirectResponse("/", 303)
        response.set_cookie(COOKIE, given, httponly=True, samesite="strict")
        return response

    def _right(self, given: str) -> bool:
        assert self.token is not None
        return hmac.compare_digest(given.encode(), self.token.encode())


class _Headed:
    """`send` with our headers on the answer; knows whether one has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


class _TooMuch(Exception):  # noqa: N818
    """A body that grew beyond the limit."""


def _too_large() -> Response:
    return answer(413, "too-large", f"at most {MAX_UPLOAD_BYTES // 1_000_000} MB are taken.")


def _bounded(receive: Receive) -> Receive:
    """`receive`, up to MAX_BODY bytes in all, none of its pieces late, and not at a drip."""
    taken, whole = 0, False
    begun = time.monotonic()

    async def take() -> Message:
        nonlocal taken, whole
        if whole:  # what follows is only the end of the connection, which may be long in coming
            return await receive()
        whole_time = min(WHOLE_BODY_SECONDS, GRACE_SECONDS + taken / SLOWEST)
        message = await asyncio.wait_for(receive(), min(BODY_SECONDS, begun + whole_time - time.monotonic()))
        taken += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if taken > MAX_BODY:
            raise _TooMuch
        return message

    return take


def _declared(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if re.fullmatch(r"[0-9]{1,18}", length) else MAX_BODY + 1


def _names_this_machine(headers: Headers) -> bool:
    """A page of another site may lead here by a name of its own that points to this machine; then Host is that name."""
    name = re.sub(r":[0-9]{1,5}$", "", headers.get("host", "").lower())
    return name in _LOCAL_NAMES
