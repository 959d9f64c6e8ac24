"""How an area of fuzzing went."""

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from endotransfer.errors import EndotransferError

LONGEST = 20.0  # seconds that one try may take; anything slower counts as a hang
MOST_TEXT = 4100  # characters of a refusal


@dataclass
class FuzzOutcome:
    """Counts of one area; `problems`: tracebacks, hangs, silent changes and growth, each in a line."""

    area: str
    tried: int = 0
    refused: int = 0
    unharmed: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def attempt(self, name: str, action: Callable[[], object], unchanged: Callable[[object], bool]) -> None:
        """Do `action`: it must be refused in one sentence, or give what passes `unchanged`."""
        self.tried += 1
        began = time.monotonic()
        try:
            found = action()
            if unchanged(found):
                self.unharmed += 1
            else:
                self.problems.append(f"{name}: a silent change")
        except EndotransferError as refusal:
            self.refused += 1
            if "\n" in str(refusal) or len(str(refusal)) > MOST_TEXT:
                self.problems.append(f"{name}: a refusal of {len(str(refusal))} characters")
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.problems.append(f"{name}: {type(error).__name__} at {place.name}:{place.lineno}: {str(error)[:120]}")
        took = time.monotonic() - began
        self.seconds += took
        if took > LONGEST:
            self.problems.append(f"{name}: took {took:.0f} s")

    def line(self) -> str:
        told = f"{self.refused} refused, {self.unharmed} unharmed, {len(self.problems)} problems"
        return f"{self.area:<24} {self.tried:>6} tries {self.seconds:>7.0f} s   {told}"
