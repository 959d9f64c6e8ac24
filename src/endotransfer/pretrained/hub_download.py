"""Models from a model hub, through huggingface_hub.  What comes is read as anything from elsewhere is.

Only the files that are asked for are fetched, none larger than one may be; nothing that could run code is among them,
and checksums, limits and structure are checked when they are opened.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from endotransfer.errors import CheckpointError, ConfigError, EndotransferError, shortened
from endotransfer.io import LARGEST_TEXT

LARGEST = {  # of any other: LARGEST_TEXT
    "weights.safetensors": 4 * 2**30, "model.onnx": 2**31, "familiarity.safetensors": 2**26,
}  # fmt: skip
NEEDED = ("config.json", "weights.safetensors")
FILES = (*NEEDED, "familiarity.safetensors", "README.md", "labels.json", "model.onnx")


Sizes = Mapping[str, int | None]  # of files, by their paths in a repository; None: the hub does not say


@dataclass(frozen=True)
class Wanted:
    """What of a repository is fetched.

    `patterns`: of the files that are looked at.  `choose`: the ones to fetch of those, given what the repository is
    called and their sizes; it refuses what is no model.
    """

    patterns: tuple[str, ...]
    choose: Callable[[str, Sizes], list[str]]


def fetch_model(repository: str, revision: str | None = None) -> Path:
    """A model folder: `repository` ("owner/name") at `revision`, its main branch if None."""
    return fetch(repository, revision, Wanted(FILES, _files_of_a_model))


def fetch(repository: str, revision: str | None, wanted: Wanted) -> Path:
    """The folder in the hub's cache that holds what is wanted of `repository`.

    Where the hub cannot be reached, the copy that was fetched before, which is said.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ConfigError("models of a hub need huggingface_hub; install endotransfer[hub].") from None
    name = f"hf://{repository}" + (f"@{revision}" if revision else "")
    try:
        with _without_bars():
            patterns = list(wanted.patterns)
            listed = snapshot_download(repository, revision=revision, allow_patterns=patterns, dry_run=True)
        chosen = wanted.choose(name, {one.filename: one.file_size for one in listed})
        commit = next((one.commit_hash for one in listed), revision)
        exact = [escape(file) for file in chosen]
        folder = Path(snapshot_download(repository, revision=commit, allow_patterns=exact))
    except EndotransferError:
        raise
    except Exception as reason:  # the library has exceptions of its own, and those of what it asks the network with
        folder = _fetched_before(repository, revision, wanted, name, reason)
    print(f"note: {name} is {folder}", file=sys.stderr)
    return folder


@contextmanager
def _without_bars() -> Iterator[None]:
    """A bar for a list of five names only flickers."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def _files_of_a_model(name: str, sizes: Sizes) -> list[str]:
    check_files(name, sizes)
    return [*sizes]


def check_files(name: str, sizes: Sizes) -> None:
    """Refuse a repository that is no model folder, or whose files are larger than those of one may be."""
    if missing := [file for file in NEEDED if file not in sizes]:
        raise CheckpointError(f"{name} holds no {missing[0]}, so it is no model of ours; name another repository.")
    check_sizes(name, sizes, {file: LARGEST.get(file, LARGEST_TEXT) for file in sizes})


def check_sizes(name: str, sizes: Sizes, largest: Mapping[str, int]) -> None:
    """Refuse files that are larger than they may be."""
    for file, most in largest.items():
        size = sizes[file]
        if size is None:
            raise CheckpointError(f"{name}: the hub does not say how large {file} is; do not use it.")
        if size > most:
            raise CheckpointError(
                f"{name}: {file} has {size / 1e6:,.0f} MB, which none of its kind has; do not use it."
            )


def _causes(reason: BaseException | None) -> Iterator[BaseException]:
    """The library says "cannot be accessed" of what is not there, of what is closed, and of a network that is down."""
    while reason is not None:
        yield reason
        reason = reason.__cause__ or reason.__context__


def _fetched_before(repository: str, revision: str | None, wanted: Wanted, name: str, reason: Exception) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    gone = (GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError)
    why = shortened(" ".join(str(reason).split()) or type(reason).__name__, 200).rstrip(".")
    refused = next((one for one in _causes(reason) if isinstance(one, gone)), None)
    if refused is not None:
        raise CheckpointError(
            f"{name} is not on the hub, or not open to you ({type(refused).__name__}); check its name, or log in with "
            "`hf auth login`."
        ) from None
    patterns = list(wanted.patterns)
    try:
        folder = Path(snapshot_download(repository, revision=revision, allow_patterns=patterns, local_files_only=True))
    except Exception:
        raise CheckpointError(
            f"{name} cannot be fetched ({why}) and was not fetched before; check the network, or give a model folder."
        ) from None
    try:
        wanted.choose(name, sizes_in(folder))
    except CheckpointError:
        raise CheckpointError(f"{name} was never fetched whole ({why}); try again with a network.") from None
    print(f"note: the hub cannot be reached; {name} is as it was fetched before", file=sys.stderr)
    return folder


def sizes_in(folder: Path) -> dict[str, int | None]:
    """The files in a folder and those below, by their paths in it."""
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
