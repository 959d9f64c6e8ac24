"""Faults of a folder of images: where, what and how to fix it, as a record and as an error."""

from dataclasses import dataclass
from typing import Literal

from endotransfer.errors import DataError

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Fault:
    """One fault.  An `error` stops training; a `warning` is suspicious."""

    code: str
    file: str
    what: str
    fix: str
    severity: Severity = "error"

    def sentence(self) -> str:
        return f"{self.file}: {self.what}; {self.fix}{'' if self.fix.endswith('?') else '.'}"


@dataclass(frozen=True)
class Note:
    """Something that was done to, or found in, some files; reported so that nothing happens silently.

    A `caution` is no fault of a file, but may make the figures of a training worthless.
    """

    code: str
    what: str
    files: tuple[str, ...] = ()
    caution: bool = False


class FaultError(DataError):
    """A DataError that carries its fault, so that an inspection can list what would stop training.

    The first argument is text because worker processes rebuild errors from their text alone.
    """

    def __init__(self, message: str, fault: Fault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


def failure(code: str, file: object, what: str, fix: str) -> FaultError:
    """The error to raise for a fault of `file`."""
    fault = Fault(code, str(file), what, fix)
    return FaultError(fault.sentence(), fault)
