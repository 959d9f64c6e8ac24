"""The stages of a method laid out as epochs with their first and last step: where a resumed run finds its place."""

from dataclasses import dataclass

from endotransfer.methods.base import Progress, Stage


@dataclass(frozen=True)
class Epoch:
    """One epoch of the run: steps `first` up to, not including, `last`."""

    index: int
    stage: Stage
    stage_epoch: int
    first: int
    last: int

    @property
    def round(self) -> int:
        """Which epoch's pass stored the maps that this one reads."""
        return self.index - self.stage_epoch % self.stage.pass_every

    def progress(self, step: int, steps: int) -> Progress:
        return Progress(step, self.index, self.stage.name, self.stage_epoch, steps)


def lay_out(stages: list[Stage], steps_per_epoch: int) -> list[Epoch]:
    """Stages one after the other, `steps_per_epoch` steps to an epoch; a single step where nothing is trained."""
    epochs: list[Epoch] = []
    first = 0
    for stage in stages:
        steps = steps_per_epoch if stage.phases else 1  # one: a place in the checkpoint for what the pass did
        for stage_epoch in range(stage.epochs):
            epochs.append(Epoch(len(epochs), stage, stage_epoch, first, first + steps))
            first += steps
    return epochs
