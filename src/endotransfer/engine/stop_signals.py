"""SIGTERM and Ctrl-C ask training to save and leave; a second one ends it at once."""

import signal
from collections.abc import Callable
from types import FrameType

Handler = Callable[[int, FrameType | None], object] | int | None  # as `signal.signal` returns it


class StopSignals:
    """Within `with`, the first signal sets `asked`; the handlers of before come back afterwards."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Handler] = {}

    def __enter__(self) -> "StopSignals":
        try:
            self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGTERM, signal.SIGINT)}
        except ValueError:  # not the main thread: nobody can send it a signal
            self._before = {}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def ask(self) -> None:
        """What a signal does, from within."""
        self.asked = True

    def _ask(self, signum: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
