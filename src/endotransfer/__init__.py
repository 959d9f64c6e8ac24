"""endotransfer: lesion segmentation for a kind of endoscopy in which nobody has drawn masks.

Research use only, not a medical device.  The handful of names below is the whole Python interface; each is imported
when it is first used, so that the command line starts at once.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Experiment": "endotransfer.config",
    "read_experiment": "endotransfer.config",
    "train": "endotransfer.engine.run",
    "evaluate": "endotransfer.engine.run",
    "load": "endotransfer.predict.load",
    "inspect_folder": "endotransfer.data.inspect",
    "write_phantom": "endotransfer.data.phantom",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'endotransfer' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
