"""What the contract is checked on: every preset of a method on every task that it can be trained on."""

from collections.abc import Iterable
from dataclasses import dataclass

from endotransfer.methods import METHODS
from endotransfer.testing.tiny_tasks import TASKS


@dataclass(frozen=True)
class Case:
    task: str
    method: str
    preset: str

    def __str__(self) -> str:
        return f"{self.task}-{self.method}-{self.preset}"

    @property
    def primary(self) -> bool:
        """Whether this is the preset that one gets without asking."""
        return self.preset == next(iter(METHODS.get(self.method).presets))

    @property
    def comparable(self) -> bool:
        """Whether two processes can equal one: the statistics of a batch differ from those of its halves."""
        return not METHODS.get(self.method).needs.live_statistics


def cases_of(methods: Iterable[str]) -> list[Case]:
    """A method that needs tags has no case on the task without them."""
    return [
        Case(task, name, preset)
        for name in methods
        for preset in METHODS.get(name).presets
        for task in TASKS
        if task == "tagged" or not METHODS.get(name).needs.tags
    ]
