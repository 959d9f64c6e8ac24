"""The stages of a method laid out as epochs with their first and last step: where a resumed run finds its place."""

from collections import Counter
from dataclasses import dataclass

from endotransfer.methods.task import Progress, Stage


@dataclass(frozen=True)
class Epoch:
    """One epoch of the run: steps `first` up to, not including, `last`."""

    index: int
    stage: Stage
    stage_epoch: int
    first: int
    last: int
    clock: int = 0  # steps of the same schedule before `first`
    clock_steps: int = 1  # and in all

    def scheduled(self, step: int) -> tuple[int, int]:
        """Where `step` stands in the schedule of the learning rate, and how long that is."""
        return self.clock + step - self.first, self.clock_steps

    @property
    def pass_epoch(self) -> int:
        """Which epoch's pass stored the maps that this one reads."""
        return self.index - self.stage_epoch % self.stage.pass_every

    def progress(self, step: int, steps: int) -> Progress:
        of_epoch = self.last - self.first
        stage_step = self.stage_epoch * of_epoch + step - self.first
        return Progress(
            step, self.index, self.stage.name, self.stage_epoch, steps, stage_step, self.stage.epochs * of_epoch
        )


def lay_out(stages: list[Stage], steps_per_epoch: int) -> list[Epoch]:
    """Stages one after the other, `steps_per_epoch` steps to an epoch, unless a stage has its own number."""
    epochs: list[Epoch] = []
    first, clocks, totals = 0, Counter[str](), Counter[str]()
    for stage in stages:
        totals[_schedule(stage)] += stage.epochs * _steps(stage, steps_per_epoch)
    for stage in stages:
        steps, name = _steps(stage, steps_per_epoch), _schedule(stage)
        for stage_epoch in range(stage.epochs):
            place = clocks[name], totals[name]
            epochs.append(Epoch(len(epochs), stage, stage_epoch, first, first + steps, *place))
            first += steps
            clocks[name] += steps
    return epochs


def _steps(stage: Stage, steps_per_epoch: int) -> int:
    """Of an epoch: a single one where nothing is trained, a place in the checkpoint for what the pass did."""
    return stage.steps or (steps_per_epoch if stage.phases else 1)


def _schedule(stage: Stage) -> str:
    """Whose learning rate runs with whose: a stage that trains nothing must not shorten anybody's."""
    return stage.name if stage.own_schedule or stage.constant_lr or not stage.phases else ""
