"""An export of the reviewed set, made in the background and offered as one file to download."""

import logging
import secrets
import shutil
import tempfile
import threading
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from endotransfer.errors import EndotransferError
from endotransfer.export.reviewed import Form, HighdicomMissingError, NothingReviewedError, export_reviewed
from endotransfer.serve.answers import Refusal, refuse_unknown

_log = logging.getLogger("endotransfer.serve")
# What the page says, by the kind of fault: an error's own text may name a path of this machine.
_SENTENCES: dict[type[Exception], str] = {
    NothingReviewedError: "no image has a reviewed mask yet; accept or correct some.",
    HighdicomMissingError: "highdicom, which writes DICOM, is not installed; install endotransfer[dicom].",
}
_OTHERWISE = "the export cannot be written; the terminal says why."


@dataclass
class ExportJob:
    """`fault`: one sentence, where nothing came of it.  `left_out`: names; their reasons are in the terminal."""

    form: Form
    id: str = field(default_factory=lambda: secrets.token_hex(12))
    done: int = 0
    total: int = 0
    state: Literal["running", "ready", "failed"] = "running"
    fault: str = ""
    images: int = 0
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, done: int, total: int) -> None:
        self.done, self.total = done, total


class Exports:
    """One at a time; the file of the one before is removed."""

    def __init__(self) -> None:
        self._job: ExportJob | None = None
        self._place: Path | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self, folder: Path, form: Form) -> ExportJob:
        with self._lock:
            if self._job is not None and self._job.state == "running":
                raise Refusal(409, "exporting", "an export is being made; wait until it is there.")
            self._remove()
            self._job = job = ExportJob(form)
            self._place = Path(tempfile.mkdtemp(prefix="endotransfer-export-"))
            self._thread = threading.Thread(target=_work, args=(job, folder, self._place), daemon=True)
            self._thread.start()
            return job

    def find(self, job: str) -> ExportJob:
        if self._job is None or self._job.id != job:
            raise refuse_unknown("export")
        return self._job

    def file(self, job: str) -> Path:
        found = self.find(job)
        if found.state != "ready" or self._place is None:
            raise Refusal(409, "not-ready", "the export is not there yet.")
        return self._place / "export.zip"

    def close(self) -> None:
        if self._thread is not None:
            self._thread.join()
        self._remove()

    def _remove(self) -> None:
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)


def _work(job: ExportJob, folder: Path, place: Path) -> None:
    try:
        report = export_reviewed(folder, job.form, place / "reviewed", progress=job.count)
        _pack(place / "reviewed", place / "export.zip")
        job.images, job.left_out, job.notes = report.images, list(report.left_out), report.notes
        for name, reason in report.left_out.items():
            _log.warning("left out of the export: %s: %s", name, reason)
        job.state = "ready"
    except (EndotransferError, OSError) as reason:
        _log.warning("%s", reason)
        job.fault = _SENTENCES.get(type(reason), _OTHERWISE)
        job.state = "failed"
    except Exception:
        _log.exception("an export failed")
        job.fault, job.state = "the export failed; the terminal has the details.", "failed"


def _pack(folder: Path, file: Path) -> None:
    """Images and masks are compressed already."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, strict_timestamps=False) as packed:  # a clock may say 1970
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.write(path, path.relative_to(folder))
    shutil.rmtree(folder)
