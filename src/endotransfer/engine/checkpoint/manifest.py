"""`manifest.json`: what a checkpoint consists of, so that a single changed byte anywhere is noticed."""

import json
import stat
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from endotransfer.engine.checkpoint.names import from_stored, group_file
from endotransfer.engine.checkpoint.names_on_disk import explaining, refuse_impostor
from endotransfer.errors import CheckpointError
from endotransfer.io import read_bounded

FORMAT = 1
MANIFEST = "manifest.json"
STATE = "state.json"
EARLIER = "resume from an earlier checkpoint"
_LARGEST_MANIFEST = 16 * 2**20


class NewerFormatError(CheckpointError):
    """Nothing is wrong with the checkpoint; this version of the package is too old for it."""


class FileRecord(BaseModel):
    """One file: its size, its SHA-256, and the group of tensors it holds (None for the state)."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    size: int = Field(ge=0)
    sha256: str
    group: str | None


class Manifest(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: int = Field(ge=FORMAT, le=FORMAT)
    step: int = Field(ge=0)
    files: dict[str, FileRecord]

    def to_bytes(self) -> bytes:
        return sealed(self.model_dump())


def sealed(body: dict[str, object]) -> bytes:
    """The one spelling of a manifest, with the hash of its own text.  Every later format keeps this rule."""
    return _spelt({**body, "sha256": sha256(_spelt(body)).hexdigest()})


def record_of(content: bytes, group: str | None) -> FileRecord:
    return FileRecord(size=len(content), sha256=sha256(content).hexdigest(), group=group)


def read_manifest(checkpoint: Path) -> Manifest:
    """The manifest of a checkpoint folder; CheckpointError if absent, damaged or of a newer format."""
    path = checkpoint / MANIFEST
    with explaining("read", checkpoint):
        refuse_impostor(checkpoint)
        if not checkpoint.exists():
            raise CheckpointError(f"there is no checkpoint at {checkpoint}; check the path.")
        _regular_size(path)
        content = read_bounded(path, CheckpointError, EARLIER, _LARGEST_MANIFEST)
    return _parsed(content, path)


def checked_bytes(path: Path, record: FileRecord) -> bytes:
    """The content of `path`, which must be exactly what `record` says; a wrong size is refused unread."""
    with explaining("read", path):
        size = _regular_size(path)
        if size != record.size:
            raise _damaged(path, f"it has {size} bytes instead of {record.size}")
        content = read_bounded(path, CheckpointError, EARLIER, record.size)
    if sha256(content).hexdigest() != record.sha256:
        raise _damaged(path, "its checksum differs from the manifest")
    return content


def verify(checkpoint: Path) -> None:
    """Read every byte back from the file system and compare it with the manifest."""
    for name, record in read_manifest(checkpoint).files.items():
        checked_bytes(checkpoint / name, record)


def is_sound(checkpoint: Path) -> bool:
    try:
        verify(checkpoint)
    except NewerFormatError:
        return True  # unknown to this version, hence not ours to remove
    except CheckpointError:
        return False
    return True


def _parsed(content: bytes, path: Path) -> Manifest:
    try:
        body = json.loads(content)
        body.pop("sha256")
        if sealed(body) != content:
            raise ValueError("its text is not the one it was sealed with")
        if body["format"] > FORMAT:
            raise NewerFormatError(
                f"{path} has format {body['format']}, newer than {FORMAT}, known here; update endotransfer."
            )
        manifest = Manifest.model_validate(body)
        _require_own_names(manifest)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as reason:
        raise _damaged(path, "it is not a whole manifest") from reason
    return manifest


def _require_own_names(manifest: Manifest) -> None:
    """A state there must be; every other file bears the name of its group, hence lies inside the folder."""
    groups = {name: record.group for name, record in manifest.files.items()}
    names = {STATE if group is None else group_file(from_stored(group)): group for group in groups.values()}
    if STATE not in groups or names != groups:
        raise ValueError("files are missing or misnamed")


def _regular_size(path: Path) -> int:
    """Size without following a link; a pipe or a device would block or never end."""
    try:
        status = path.lstat()
    except FileNotFoundError as reason:
        raise _damaged(path, "it is missing") from reason
    if not stat.S_ISREG(status.st_mode):
        raise _damaged(path, "it is not a regular file")
    return status.st_size


def _damaged(path: Path, what: str) -> CheckpointError:
    return CheckpointError(f"{path} is damaged: {what}; {EARLIER}.")


def _spelt(body: dict[str, object]) -> bytes:
    return json.dumps(body, indent=1, sort_keys=True).encode()
