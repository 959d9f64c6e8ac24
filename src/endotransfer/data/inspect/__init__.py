"""Inspect a folder of images before training: a fingerprint, and every fault with its file and fix."""

from endotransfer.data.folders.faults import Fault, Note
from endotransfer.data.inspect.inspection import Inspection, inspect_folder
from endotransfer.data.inspect.render import render

__all__ = ["Fault", "Inspection", "Note", "inspect_folder", "render"]
