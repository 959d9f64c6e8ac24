"""A thread that keeps watch while several processes train together.

They wait for each other in libraries that hear no signal: were one of them stopped, the others would wait for an hour,
whatever the user does.
"""

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

from endotransfer.distributed import rank
from endotransfer.errors import DataError
from endotransfer.patience import FOR_STOPPED, patience, stopped_children, stopped_relatives

LOOK_EVERY = 2.0  # seconds
GRACE = 10.0  # that the main thread has to leave after the second signal
_ASKING = (signal.SIGINT, signal.SIGTERM)
_watches: list[threading.Thread] = []


def keep_watch() -> None:
    """Watch over this process until it ends; once is enough."""
    if _watches or threading.current_thread() is not threading.main_thread():
        return
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    signal.set_wakeup_fd(mouth.detach(), warn_on_full_buffer=False)  # written to even while the main thread waits
    _watches.append(threading.Thread(target=watch, args=(ear, leave), daemon=True))
    _watches[0].start()


def watch(ear: socket.socket, leave: Callable[[str, int], None]) -> None:
    """Leave when a second signal was not obeyed, or a process of the run stays stopped.  `ear`: numbers of signals."""
    asked, until = 0, float("inf")
    idle: dict[int, float] = {}
    looked = time.monotonic()
    while True:
        if select.select([ear], [], [], LOOK_EVERY)[0]:
            heard = ear.recv(64)
            if not heard:
                return
            asked += sum(number in _ASKING for number in heard)
            until = min(until, time.monotonic() + GRACE) if asked > 1 else until
        now = time.monotonic()
        # At most two looks: where this process was stopped as well, the others had no chance to go on.
        idle = {pid: idle.get(pid, 0.0) + min(now - looked, 2 * LOOK_EVERY) for pid in _stopped()}
        looked = now
        if now >= until:
            leave("interrupted; go on with --resume.", 128 + signal.SIGINT)
            return
        if lost := [pid for pid, seconds in idle.items() if seconds >= patience(FOR_STOPPED)]:
            leave(f"error: {_sentence(lost)}", DataError.exit_code)
            return


def leave(sentence: str, code: int) -> None:
    """End this process, whatever its main thread waits for.  The others notice and end by themselves."""
    print(sentence, file=sys.stderr, flush=True)
    for pid in stopped_children():
        os.kill(pid, signal.SIGKILL)  # it hears no other
    os._exit(code)


def _stopped() -> list[int]:
    """Where the user's shell is the parent, its other jobs are none of ours."""
    among_ours = rank() > 0 or "TORCHELASTIC_RUN_ID" in os.environ
    return stopped_relatives() if among_ours else stopped_children()


def _sentence(lost: list[int]) -> str:
    which = ", ".join(map(str, lost))
    fix = "continue or end it, then start all again with --resume"
    return f"process {which} of this run has been stopped for {patience(FOR_STOPPED)} s; {fix}."
