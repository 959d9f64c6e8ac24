"""Write a checkpoint so that a kill or a full disk at any moment costs nothing already saved."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from endotransfer.engine.checkpoint import names_on_disk as layout
from endotransfer.engine.checkpoint.content import encode_group, encode_state
from endotransfer.engine.checkpoint.manifest import (
    FORMAT,
    MANIFEST,
    STATE,
    Manifest,
    is_sound,
    record_of,
    verify,
)
from endotransfer.engine.checkpoint.names import group_file, to_stored
from endotransfer.errors import CheckpointError
from endotransfer.io import sync, write_atomically


def save_checkpoint(
    folder: Path, step: int, tensors: dict[str, dict[str, Tensor]], state: Mapping[str, object], keep: int = 2
) -> Path:
    """Save `tensors` (group -> name -> tensor) and `state` (plain JSON) as `folder/step-...`; return it.

    Built under a hidden name, flushed, read back against its checksums, renamed into place; only then are
    checkpoints beyond the newest `keep` sound ones removed.  On failure the earlier ones are untouched.
    """
    if step < 0 or keep < 1:
        raise CheckpointError(f"cannot save step {step} and keep {keep} checkpoints; steps count from 0, keep from 1.")
    final = layout.step_folder(folder, step)
    part = layout.unfinished_name(final)
    with layout.explaining("write", folder):
        _prepare(folder, step)
        try:
            _write(part, step, tensors, state)
            verify(part)
            _put_in_place(part, final, layout.replaced_folder(folder, step))
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)  # gives a full disk its room back
            raise
        _remove_surplus(folder, final, keep)
    return final


def _prepare(folder: Path, step: int) -> None:
    """Make the folder, clear what a killed save left, and refuse to fork the history of a run."""
    layout.refuse_impostor(folder)
    if not folder.exists():
        folder.mkdir(parents=True)
        sync(folder.parent)
    layout.refuse_impostor(layout.step_folder(folder, step))
    for path in layout.unfinished(folder):
        shutil.rmtree(path)
    for later, path in layout.newest_first(folder):
        if later > step and is_sound(path):
            raise CheckpointError(
                f"cannot save step {step} in {folder}: it holds the later step {later}; "
                "continue from that with --resume or choose another folder."
            )


def _write(part: Path, step: int, tensors: dict[str, dict[str, Tensor]], state: Mapping[str, object]) -> None:
    """Fill the folder `part`, one group in memory at a time; the manifest comes last."""
    content = encode_state(state)
    part.mkdir()
    write_atomically(part / STATE, content, CheckpointError)
    records = {STATE: record_of(content, group=None)}
    for group, named in tensors.items():
        content, file = encode_group(group, named), group_file(group)
        write_atomically(part / file, content, CheckpointError)
        records[file] = record_of(content, to_stored(group))
    manifest = Manifest(format=FORMAT, step=step, files=records)
    write_atomically(part / MANIFEST, manifest.to_bytes(), CheckpointError)


def _put_in_place(part: Path, final: Path, replaced: Path) -> None:
    """Rename; an earlier checkpoint of the same step steps aside first and stays loadable throughout."""
    if final.exists():
        _discard(replaced)
        final.rename(replaced)
    part.rename(final)
    sync(final.parent)
    _discard(replaced)


def _remove_surplus(folder: Path, saved: Path, keep: int) -> None:
    """Keep `saved` and the newest others that still verify, `keep` in all."""
    sound = 1
    for _, path in layout.newest_first(folder):
        if path == saved:
            continue
        if sound < keep and is_sound(path):
            sound += 1
        else:
            _discard(path)


def _discard(path: Path) -> None:
    """Hidden first, then emptied: a kill half-way must not leave something that looks like a checkpoint."""
    if layout.is_real_folder(path):
        doomed = path.rename(layout.unfinished_name(path))
        shutil.rmtree(doomed)
