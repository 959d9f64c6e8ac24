"""How long a process waits for another, and which ones are not at work."""

import os
from pathlib import Path

VARIABLE = "ENDOTRANSFER_PATIENCE"  # seconds, for all of them
FOR_LOADERS = 900  # no batch takes a quarter of an hour
FOR_RANKS = 3600  # one process may save or measure while the others wait
FOR_STOPPED = 60  # nobody waits as long for one that was stopped: it does nothing


def patience(usual: int) -> int:
    """Seconds to wait for another process of the run: `usual`, or what the environment says."""
    text = os.environ.get(VARIABLE, "")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 9 else usual


def stopped_children() -> list[int]:
    """Processes that this one has started and that somebody has stopped (Ctrl-Z, SIGSTOP, a debugger); Linux only."""
    return _stopped(_children_of("self"))


def stopped_relatives() -> list[int]:
    """The same for all processes of a run: those that this one's parent has started, and the parent."""
    parent = os.getppid()
    return _stopped({parent} | _children_of(parent) | _children_of("self"))


def _children_of(process: int | str) -> set[int]:
    return {int(pid) for listing in Path(f"/proc/{process}/task").glob("*/children") for pid in _text(listing).split()}


def _stopped(processes: set[int]) -> list[int]:
    return sorted(pid for pid in processes if _state(pid) in ("T", "t"))


def _state(pid: int) -> str:
    """The letter behind the name, which stands in brackets and may hold anything."""
    fields = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[0] if fields else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it ended meanwhile
        return ""
