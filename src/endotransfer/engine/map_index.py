"""`index.json` of a pass: the digest of every stored map, so that a lost or exchanged one is noticed."""

from hashlib import sha256
from pathlib import Path

from endotransfer.distributed import rank, world_size
from endotransfer.errors import CheckpointError
from endotransfer.io import read_bounded, read_json_object, sync_file_system, write_atomically
from endotransfer.sealed_json import is_intact, sealed

FILE = "index.json"
LARGEST_MAP = 64 * 2**20  # bytes of a PNG
Digests = dict[str, str]  # by key of the image
_FIX = "start the run again with --force"


def write_share(folder: Path, digests: Digests) -> None:
    """What this process has stored in the open pass; named so that a killed sitting's is replaced."""
    write_atomically(_share(folder, rank()), sealed({"digests": digests}), CheckpointError)


def join_shares(folder: Path) -> None:
    """One index of what all processes have stored, everything on the disk."""
    shares = [_share(folder, number) for number in range(world_size())]
    merged = {key: digest for share in shares for key, digest in _read(share).items()}
    for share in folder.glob(".index-*.json"):
        share.unlink()
    write_atomically(folder / FILE, sealed({"digests": merged}), CheckpointError)
    sync_file_system(folder)  # once for thousands of small files


def read_index(folder: Path) -> Digests | None:
    """The digests of a finished pass; None where an older version stored it, which kept none."""
    if folder.is_dir() and not (folder / FILE).exists():
        return None
    return _read(folder / FILE)


def digest_of_map(content: bytes) -> str:
    return sha256(content).hexdigest()


def read_map(path: Path, key: str, digests: Digests | None) -> bytes:
    """The bytes of the map stored for image `key`, which must be those that were written."""
    try:
        content = read_bounded(path, CheckpointError, _FIX, LARGEST_MAP)
    except FileNotFoundError:
        raise CheckpointError(f"the stored map {path} is missing or damaged; {_FIX}.") from None
    if digests is not None and digest_of_map(content) != digests.get(key):
        raise CheckpointError(f"the stored map {path} is missing or damaged: it is not the one written; {_FIX}.")
    return content


def _read(path: Path) -> Digests:
    content = read_json_object(path, CheckpointError, _FIX)
    digests = content.get("digests")
    if not is_intact(content) or not isinstance(digests, dict):
        raise CheckpointError(f"{path} is missing or damaged; {_FIX}.")
    return {key: str(digest) for key, digest in digests.items()}


def _share(folder: Path, number: int) -> Path:
    return folder / f".index-{number}-of-{world_size()}.json"
