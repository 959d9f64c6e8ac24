"""How long a process waits for another, and which ones are not at work."""

import os
from pathlib import Path

VARIABLE = "ENDOTRANSFER_PATIENCE"  # seconds, for both
FOR_LOADERS = 900  # no batch takes a quarter of an hour
FOR_RANKS = 3600  # one process may save or measure while the others wait


def patience(usual: int) -> int:
    """Seconds to wait for another process of the run: `usual`, or what the environment says."""
    text = os.environ.get(VARIABLE, "")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 9 else usual


def stopped_children() -> list[int]:
    """Processes that this one has started and that somebody has stopped (Ctrl-Z, SIGSTOP, a debugger); Linux only."""
    children = [int(pid) for listing in Path("/proc/self/task").glob("*/children") for pid in _text(listing).split()]
    return sorted({pid for pid in children if _state(pid) in ("T", "t")})


def _state(pid: int) -> str:
    """The letter behind the name, which stands in brackets and may hold anything."""
    fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[0] if fields else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it ended meanwhile
        return ""
