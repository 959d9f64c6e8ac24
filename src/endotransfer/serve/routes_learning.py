"""Routes of active learning: the next batch, the training with what was reviewed, and what it brought."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from endotransfer.errors import EndotransferError
from endotransfer.serve.answers import Refusal
from endotransfer.serve.learning.comparison import RunComparison
from endotransfer.serve.learning.next_batch import BatchChooser
from endotransfer.serve.learning.retrainable import Retrainable, open_retrainable
from endotransfer.serve.learning.retraining import Retraining
from endotransfer.serve.learning.sentences import without_paths
from endotransfer.serve.service import Service

T = TypeVar("T")


class BatchAsked(BaseModel):
    count: int = Field(10, ge=1, le=200)


class LearningDesk:
    """What the routes share: the experiment of the served run, read once, and the comparison of two runs."""

    def __init__(self, service: Service) -> None:
        self.service, self.chooser = service, BatchChooser(service)
        self._known: Retrainable | None = None
        self._comparison: RunComparison | None = None

    @property
    def retraining(self) -> Retraining:
        return Retraining(self.service.models[0].run)

    def known(self) -> Retrainable:
        """Refused with the reason where the served model cannot be trained again."""
        run, folder = self.service.models[0].run, self.service.folder
        if self._known is None or self._known.run != run:
            self._known = open_retrainable(run, folder)
        return self._known

    def known_or_none(self) -> Retrainable | None:
        try:
            return self.known()
        except Refusal:
            return None

    def about(self) -> dict[str, object]:
        try:
            known = self.known()
        except Refusal as refusal:
            return {"possible": False, "reason": refusal.message, "reviewed": 0, "job": None}
        return {"possible": True, "reason": "", "reviewed": len(known.reviewed()), "job": self.retraining.status()}

    def comparison(self) -> RunComparison:
        job = self.retraining.job()
        if job is None or self.retraining.state_of(job) != "done":
            raise Refusal(409, "not-done", "there is nothing to compare before a training is done.")
        folder = self.retraining.folder
        before, after = folder.runs / job.before, folder.run_of(job)
        if self._comparison is None or (self._comparison.before, self._comparison.after) != (before, after):
            self._comparison = RunComparison(self.service, before, after)
        return self._comparison

    def serve_new(self) -> None:
        """The new model takes the place of the old one, which stays for comparison."""
        found = self.comparison()
        self.service.show_runs([found.after, found.before])
        self.chooser.forget()


def learning_routes(service: Service) -> APIRouter:
    routes, desk = APIRouter(prefix="/api/learning"), LearningDesk(service)

    @routes.get("")
    async def about() -> dict[str, object]:
        return await service.turns.run(lambda: _told(desk.about))

    @routes.post("/batch", status_code=201)
    async def batch(asked: BatchAsked) -> dict[str, object]:
        found = await service.turns.run(lambda: _told(lambda: desk.chooser.choose(asked.count, desk.known_or_none())))
        return {"asked": asked.count, "ids": [entry.id for entry in found], "names": [entry.name for entry in found]}

    @routes.get("/job")
    def status() -> dict[str, object]:
        return {"job": _told(desk.retraining.status)}

    @routes.post("/job", status_code=201)
    async def start() -> dict[str, object]:
        await service.turns.run(lambda: _told(lambda: desk.retraining.start(desk.known())))
        return {"job": desk.retraining.status()}

    @routes.post("/job/resume", status_code=201)
    async def resume() -> dict[str, object]:
        await service.turns.run(lambda: _told(desk.retraining.resume))
        return {"job": desk.retraining.status()}

    @routes.delete("/job")
    def stop() -> dict[str, object]:
        _told(desk.retraining.stop)
        return {"job": desk.retraining.status()}

    @routes.get("/comparison")
    async def comparison() -> dict[str, object]:
        return await service.turns.run(lambda: _told(lambda: desk.comparison().to_dict()))

    @routes.get("/comparison/{image}/{side}")
    async def picture(image: str, side: str) -> Response:
        content = await service.turns.run(lambda: _told(lambda: desk.comparison().picture(image, side)))
        return Response(content, media_type="image/png")

    @routes.post("/serve")
    async def serve_new() -> dict[str, object]:
        await service.turns.run(lambda: _told(desk.serve_new))
        return service.about()

    return routes


def _told(work: Callable[[], T]) -> T:
    """The result of `work`; an error becomes its one sentence."""
    try:
        return work()
    except (EndotransferError, OSError) as error:
        raise Refusal(409, "cannot-learn", without_paths(str(error))) from None
