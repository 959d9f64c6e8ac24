"""Checkpoints on disk: safetensors and JSON, checksummed, whole or absent.  Knows nothing of any method.

<folder>/step-00000123/weights.safetensors    one file per named group of tensors
                       state.json             what the caller gave, plain JSON
                       manifest.json          format, step, size and SHA-256 of every file; written last
"""

from endotransfer.engine.checkpoint.load_weights import check_fits, load_weights_into, not_finite
from endotransfer.engine.checkpoint.names_on_disk import list_steps
from endotransfer.engine.checkpoint.read_checkpoint import Checkpoint, load_checkpoint, load_latest
from endotransfer.engine.checkpoint.save import save_checkpoint

__all__ = [
    "Checkpoint",
    "check_fits",
    "list_steps",
    "load_checkpoint",
    "load_latest",
    "load_weights_into",
    "not_finite",
    "save_checkpoint",
]
