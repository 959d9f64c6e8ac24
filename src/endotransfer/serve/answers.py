"""What the service says when it will not: a status, a code, one plain sentence.  Never a path, never a traceback."""

from collections.abc import Mapping

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from endotransfer.data.folders.faults import FaultError
from endotransfer.errors import EndotransferError

_PLAIN = {
    400: ("malformed", "the request could not be understood."),
    404: ("unknown", "there is nothing here."),
    405: ("not-allowed", "that cannot be done here."),
    413: ("too-large", "that is larger than the service takes."),
}


class Refusal(Exception):  # noqa: N818  (an answer, not a fault of ours)
    """A request that is answered with `status` and why; `details`: what the page can go on with."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.details = status, code, message, details or {}


def refuse_unknown(what: str) -> Refusal:
    return Refusal(404, "unknown", f"there is no such {what}; it may have been removed.")


def refuse_fault(error: EndotransferError) -> Refusal:
    """A file's fault in words that name no path of this machine."""
    if isinstance(error, FaultError) and error.fault is not None:
        return Refusal(400, error.fault.code, f"the file {error.fault.what}; {error.fault.fix}.")
    return Refusal(400, "unusable", "the file cannot be used; the terminal says why.")


def answer(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"code": code, "message": message}, status, headers)


async def on_refusal(_: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)
    wait = {"Retry-After": "2"} if refusal.status == 429 else None
    content = {**refusal.details, "code": refusal.code, "message": refusal.message}
    return JSONResponse(content, refusal.status, wait)


async def on_http(_: Request, error: Exception) -> Response:
    """The framework's own refusals, in our words: its text may repeat what was sent."""
    status = error.status_code if isinstance(error, HTTPException) else 400
    return answer(status, *_PLAIN.get(status, _PLAIN[400]))


async def on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return answer(422, "invalid", "a value of the request is not of the kind that is needed here.")
