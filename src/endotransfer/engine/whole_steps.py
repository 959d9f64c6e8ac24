"""When a whole step is recorded and replayed: after a few plain ones of each stage, where a method allows it."""

from collections.abc import Sequence

from endotransfer.batch import Batch
from endotransfer.distributed import world_size
from endotransfer.engine.graphs import CudaGraphs
from endotransfer.engine.phase_update import PhaseUpdate
from endotransfer.engine.recorded_step import RecordedStep, can_be_recorded, cloned
from endotransfer.engine.step_figures import StepFigures
from endotransfer.methods.base import Memo, Method
from endotransfer.methods.task import Stage


class WholeSteps:
    """Of one run.  Where a method's steps may not be recorded it does nothing, and the segmenter's graphs serve."""

    def __init__(self, method: Method, update: PhaseUpdate, graphs: CudaGraphs) -> None:
        self.update, self.graphs = update, graphs
        optimisers = list(update.optimisers.values())
        # Said by the class itself: what another one inherits it may have changed.
        says_so = bool(vars(type(method)).get("records_steps", False))
        self.allowed = says_so and world_size() == 1 and can_be_recorded(optimisers)
        self.seen: tuple[tuple[str, ...], Batch] | None = None  # what the last plain step was made of
        self.stage = ""  # whose steps may be recorded; none is
        self.recorded: RecordedStep | None = None

    def record(self, stage: Stage) -> bool:
        """Record a step like the last plain one of `stage`, if there was one; False: the segmenter alone may be."""
        if not (self.allowed and stage.recordable):
            self.recorded, self.seen, self.stage = None, None, ""
            return False
        if self.stage != stage.name:
            self.recorded, self.seen, self.stage = None, None, stage.name
        if self.recorded is None and self.seen is not None:  # pragma: needs cuda
            phases, batch = self.seen
            with self.graphs.inlined():
                self.recorded = RecordedStep(self.update, phases, batch)
            self.seen = None
        return True

    def replay(
        self, phases: Sequence[str], batches: Sequence[Batch], memos: list[Memo], lr_factor: float, step: int
    ) -> list[StepFigures] | None:
        """The figures of the step that was replayed; None where it has to be taken plainly."""
        if not self.stage:
            return None
        (batch,) = batches
        recorded = self.recorded
        if recorded is None or not recorded.fits(phases, batch):
            if recorded is None:
                self.seen = tuple(phases), cloned(batch)
            return None
        recorded.replay(batch, [lr_factor] * len(phases))  # pragma: needs cuda
        memos[0] |= recorded.memo  # pragma: needs cuda
        return [  # pragma: needs cuda
            self.update.told(phase, *recorded.found[phase], [batch], step) for phase in phases
        ]
