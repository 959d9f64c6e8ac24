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
    """Stages one after the other, `steps_per_epoch` steps to each of their epochs."""
    epochs: list[Epoch] = []
    for stage in stages:
        for stage_epoch in range(stage.epochs):
            index = len(epochs)
            first = index * steps_per_epoch
            epochs.append(Epoch(index, stage, stage_epoch, first, first + steps_per_epoch))
    return epochs
