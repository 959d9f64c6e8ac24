"""Read a checkpoint back: every file checked before it is interpreted."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from endotransfer.engine.checkpoint.content import decode_group, decode_state
from endotransfer.engine.checkpoint.manifest import STATE, NewerFormatError, checked_bytes, read_manifest
from endotransfer.engine.checkpoint.names import from_stored
from endotransfer.engine.checkpoint.names_on_disk import newest_first
from endotransfer.errors import CheckpointError


@dataclass(frozen=True)
class Checkpoint:
    """What `save_checkpoint` was given, and where it was found.  Tensors are on the CPU."""

    step: int
    tensors: dict[str, dict[str, Tensor]]
    state: dict[str, object]
    path: Path


def load_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in the folder `path`; CheckpointError if anything about it is wrong."""
    manifest = read_manifest(path)
    state = decode_state(checked_bytes(path / STATE, manifest.files[STATE]), path / STATE)
    tensors = {
        from_stored(record.group): decode_group(checked_bytes(path / name, record), path / name)
        for name, record in manifest.files.items()
        if record.group is not None
    }
    return Checkpoint(manifest.step, tensors, state, path)


def load_latest(folder: Path, accept: Callable[[int], object] = lambda step: None) -> tuple[Checkpoint, list[str]]:
    """The newest sound checkpoint in `folder`, and a warning for each newer one that was passed over.

    `accept(step)` raises CheckpointError where what that step needs beside its checkpoint is lost.
    """
    warnings: list[str] = []
    for step, path in newest_first(folder):
        try:
            checkpoint = load_checkpoint(path)
            accept(step)
            return checkpoint, warnings
        except NewerFormatError:
            raise  # not damaged: going back behind it would fork the history of the run
        except CheckpointError as reason:
            warnings.append(f"checkpoint of step {step} passed over: {reason}")
    if warnings:
        raise CheckpointError(f"no checkpoint in {folder} can be used; {warnings[0]}")
    raise CheckpointError(f"there is no checkpoint in {folder}; start the training without --resume.")
