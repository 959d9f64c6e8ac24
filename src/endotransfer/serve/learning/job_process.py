"""A process that outlives the viewer, and the certainty that a number still means the same process."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
_started: dict[int, "subprocess.Popen[bytes]"] = {}  # ours, so that none stays behind as a zombie


def start_process(command: Sequence[str], log: Path) -> int:
    """Start it in a session of its own, where Ctrl-C in the viewer's terminal does not reach; returns its number.

    What it says is added to `log`.
    """
    with log.open("ab") as said:
        process = subprocess.Popen(
            [*command], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
        )
    _started[process.pid] = process
    return process.pid


def identity_of(pid: int) -> str | None:
    """When the process `pid` began, as text that no other process ever has; None where it has ended.

    A number alone would not do: after a restart of the machine, or some hours, it may be anybody's.
    """
    ours = _started.get(pid)
    if ours is not None and ours.poll() is not None:
        return None
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None if Path("/proc/self").exists() else _identity_by_ps(pid)
    return None if fields[0] in ("Z", "X") else f"{BOOT.read_text().strip()} {fields[19]}"


def ask_to_stop(pid: int, identity: str) -> None:
    """SIGTERM: training saves a checkpoint and leaves.  Nobody else's process is ever meant."""
    if identity_of(pid) == identity:
        os.kill(pid, signal.SIGTERM)


def _identity_by_ps(pid: int) -> str | None:  # pragma: no cover  (where there is no /proc)
    found = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, began = found.stdout.strip().partition(" ")
    return None if not began or state.startswith("Z") else began.strip()
