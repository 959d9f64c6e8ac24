"""What a run is trained on, by content: a run may not go on with other pixels, masks or tags than it began with.

`data.json` of the run folder holds a digest of every file that training reads.  Target masks are not among them: they
are never opened.  Files are hashed in the background, and again only where their size or times have changed.
"""

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from endotransfer.batch import Sample
from endotransfer.engine.experiment_data import ExperimentData
from endotransfer.errors import CheckpointError, DataError
from endotransfer.io import read_json_object, write_atomically
from endotransfer.sealed_json import is_intact, sealed

FILE = "data.json"
CONTENTS = "contents"  # how a digest of contents begins
NAMED = 3  # differences that are told
State = tuple[int, int, int]  # size, time of the last change of the content, and of anything about the file
_known: dict[tuple[str, State], str] = {}  # digests of this process; the runs of a benchmark share their files


class Entry(BaseModel):
    """One image in one role."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tag: int
    image: str
    mask: str | None = None


class Record(BaseModel):
    """What data.json holds.  `states`: when each file was hashed it looked like this."""

    model_config = ConfigDict(extra="ignore")

    classes: list[str]
    entries: dict[str, Entry]  # by role and key
    states: dict[str, tuple[State, str]]


class DataRecord:
    """The record of an experiment's data, made while the run gets ready; `digest` waits for it."""

    def __init__(self, data: ExperimentData, folder: Path) -> None:
        self._data, self._path = data, folder / FILE
        self._made: Record | None = None
        self._failed: DataError | None = None
        self._before = _read(self._path)
        if self._before is not None:
            _known.update({(path, state): digest for path, (state, digest) in self._before.states.items()})
        self._thread = threading.Thread(target=self._make, daemon=True)
        self._thread.start()

    def digest(self) -> str:
        """Of all contents and roles."""
        record = self._record()
        text = json.dumps([record.classes, sorted((key, *entry) for key, entry in _plain(record).items())])
        return f"{CONTENTS} {hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"

    def names_digest(self) -> str:
        """Of names and roles alone, as checkpoints of older versions have it."""
        data = self._data
        roles = [data.masked, data.tagged, data.target, *(role for role in (data.reviewed, data.normals) if role)]
        text = json.dumps([[sample.key for sample in role] for role in roles])
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def write(self) -> None:
        """Keep the record beside the checkpoints; once is enough."""
        record = self._record()
        if self._before is None or self._before.entries != record.entries:
            write_atomically(self._path, sealed(record.model_dump(mode="json")), CheckpointError)
            self._before = record

    def changes(self) -> str:
        """What differs from the record that the run began with, in words; "" where that is not known."""
        if self._before is None:
            return ""
        found = list(_differences(self._before, self._record()))
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        return ", ".join(found[:NAMED]) + more

    def _record(self) -> Record:
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        assert self._made is not None
        return self._made

    def _make(self) -> None:
        try:
            self._made = _record_of(self._data)
        except OSError as reason:
            what = f"{reason.filename} cannot be read any more ({reason.strerror})"
            self._failed = DataError(f"{what}; leave the data as they are while a run trains.")


def _record_of(data: ExperimentData) -> Record:
    roles = {
        "masked": (data.masked, True), "tagged": (data.tagged, False), "target": (data.target, False),
        "reviewed": (data.reviewed, True), "normals": (data.normals, False),
    }  # fmt: skip
    states: dict[str, tuple[State, str]] = {}
    entries = {
        f"{role} {sample.key}": _entry(sample, states, mask=masks)
        for role, (samples, masks) in roles.items()
        for sample in samples
    }
    return Record(classes=list(data.classes.names), entries=entries, states=states)


def _entry(sample: Sample, states: dict[str, tuple[State, str]], *, mask: bool) -> Entry:
    drawn = _content(sample.mask, states) if mask and sample.mask is not None else None
    return Entry(tag=sample.tag, image=_content(sample.image, states), mask=drawn)


def _content(path: Path, states: dict[str, tuple[State, str]]) -> str:
    status = path.stat()
    state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    name = str(path.absolute())
    if (name, state) not in _known:
        with path.open("rb") as file:
            _known[name, state] = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    states[name] = (state, _known[name, state])
    return _known[name, state]


def _plain(record: Record) -> dict[str, tuple[int, str, str | None]]:
    return {key: (entry.tag, entry.image, entry.mask) for key, entry in record.entries.items()}


def _differences(before: Record, now: Record) -> Iterator[str]:
    if before.classes != now.classes:
        yield "the classes"
    for place in sorted(before.entries.keys() | now.entries.keys()):
        then, here = before.entries.get(place), now.entries.get(place)
        key = place.partition(" ")[2]
        if then is None or here is None:
            yield f"{key} is {'new' if then is None else 'gone'}"
            continue
        for what in ("tag", "image", "mask"):
            if getattr(then, what) != getattr(here, what):
                yield f"the {what} of {key}"


def _read(path: Path) -> Record | None:
    if not path.exists():
        return None
    try:
        content = read_json_object(path, CheckpointError)
        return Record.model_validate(content) if is_intact(content) else None
    except (CheckpointError, ValidationError):
        return None  # only what changed cannot be told then; whether anything did, the checkpoint says
