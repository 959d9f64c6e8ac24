"""Routes of the review loop: decisions about masks, and the random sample."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from endotransfer.data.folders.drawn_sample import read_plan, write_plan
from endotransfer.data.folders.reviewed import read_reviewed_mask, remove_review
from endotransfer.errors import EndotransferError
from endotransfer.serve.answers import Refusal
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.image_figures import ImageFigures
from endotransfer.serve.pictures import as_png, resize_labels
from endotransfer.serve.review import parse, save
from endotransfer.serve.sample import DEFAULT, draw_plan, estimate
from endotransfer.serve.service import Service
from endotransfer.serve.uploads import form_file

T = TypeVar("T")
CANNOT_SAVE = "the review cannot be saved; check space and permissions of the image folder."


class SampleAsked(BaseModel):
    count: int = Field(DEFAULT, ge=2, le=1000)
    replace: bool = False  # draw anew although there is a plan


def review_routes(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api")

    @routes.get("/images/{image}/reviewed")
    async def reviewed(image: str) -> Response:
        entry = service.find_reviewable(image)
        sizes = await service.look(entry)
        return Response(await service.turns.run(lambda: _reviewed(service, entry, sizes)), media_type="image/png")

    @routes.put("/images/{image}/review")
    async def review(image: str, request: Request) -> dict[str, object]:
        entry, folder = service.find_reviewable(image), service.folder
        async with service.forms.place():
            content, fields = await form_file(request, "mask")
            asked = parse(fields.get("review", ""))
            sizes = await service.look(entry)
            names = [model.name for model in service.models]

            def write() -> dict[str, object]:
                classes = len(service.predictions.names)
                return asdict(save(folder, entry, asked, content, sizes=sizes, classes=classes, models=names))

            return await service.turns.run(lambda: _saved(write))

    @routes.delete("/images/{image}/review", status_code=204)
    def take_back(image: str) -> None:
        entry = service.find_reviewable(image)
        _saved(lambda: remove_review(service.folder, entry.name))

    @routes.get("/sample")
    def sample() -> dict[str, object]:
        plan = read_plan(service.folder)
        known = service.catalogue.by_name()
        return {"plan": plan and {**asdict(plan), "ids": [known[name].id for name in plan.images if name in known]}}

    @routes.post("/sample", status_code=201)
    def draw(asked: SampleAsked) -> dict[str, object]:
        if read_plan(service.folder) is not None and not asked.replace:
            raise Refusal(409, "drawn", "images are drawn already; finish them, or draw anew.")
        plan = draw_plan([*service.catalogue.entries.values()], asked.count)
        _saved(lambda: write_plan(service.folder, plan))
        return sample()

    @routes.get("/sample/estimate")
    async def measure(model: int = 0) -> dict[str, object]:
        folder, index, plan = service.folder, service.model_index(model), read_plan(service.folder)
        if plan is None:
            raise Refusal(404, "no-plan", "no images are drawn yet.")
        known = service.catalogue.by_name()
        said = service.predictions
        return await service.turns.run(lambda: _saved(lambda: estimate(folder, plan, known, said, index)))

    return routes


def _reviewed(service: Service, entry: CatalogueEntry, sizes: ImageFigures) -> bytes:
    try:
        mask = read_reviewed_mask(service.folder, entry.name, len(service.predictions.names))
    except EndotransferError:
        mask = None
    if mask is None:
        raise Refusal(404, "no-review", "nobody has reviewed this image.")
    return as_png(resize_labels(mask, sizes["shown"]))


def _saved(work: Callable[[], T]) -> T:
    """The result of `work`; what cannot be written becomes an answer."""
    try:
        return work()
    except (EndotransferError, OSError):
        raise Refusal(409, "not-saved", CANNOT_SAVE) from None
