"""Routes of the review loop: decisions about masks, and the random sample."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from endotransfer.data.folders.drawn_sample import read_plan, write_plan
from endotransfer.data.folders.faults import FaultError
from endotransfer.data.folders.review_record import in_force
from endotransfer.data.folders.reviewed import read_version_mask
from endotransfer.errors import EndotransferError
from endotransfer.serve.answers import Refusal
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.image_figures import ImageFigures
from endotransfer.serve.pictures import as_png, mask_thumbnail, resize_labels
from endotransfer.serve.predictions import Labels
from endotransfer.serve.review import RestoreAsked, ReviewerAsks, parse, restore, save, take_back
from endotransfer.serve.review_rules import known_revision
from endotransfer.serve.review_state import known_record, state_of
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
    async def reviewed(image: str, version: int | None = None, small: bool = False) -> Response:
        entry = service.find_reviewable(image)
        sizes = await service.look(entry)
        mask = await service.turns.run(lambda: _reviewed(service, entry, sizes, version))
        return Response(mask_thumbnail(mask) if small else as_png(mask), media_type="image/png")

    @routes.get("/images/{image}/history")
    def history(image: str) -> dict[str, object]:
        record = known_record(service.folder, service.find_reviewable(image).name)
        return {**state_of(record), "versions": [asdict(version) for version in record.versions]}

    @routes.put("/images/{image}/review")
    async def review(image: str, request: Request) -> dict[str, object]:
        entry, folder, expected = service.find_reviewable(image), service.folder, known_revision(request.headers)
        async with form_file(request, "mask", service.forms) as (content, fields):
            asked = parse(fields.get("review", ""))
            sizes, said = await service.look(entry), service.predictions

            def write() -> dict[str, object]:
                save(folder, entry, asked, content, expected=expected, sizes=sizes, predictions=said)
                return state_of(known_record(folder, entry.name))

            return await service.turns.run(lambda: _saved(write))

    @routes.put("/images/{image}/review/version")
    def return_to(image: str, asked: RestoreAsked, request: Request) -> dict[str, object]:
        name, expected = service.find_reviewable(image).name, known_revision(request.headers)
        _saved(lambda: restore(service.folder, name, asked, expected))
        return state_of(known_record(service.folder, name))

    @routes.delete("/images/{image}/review")
    def remove(image: str, asked: Annotated[ReviewerAsks, Query()], request: Request) -> dict[str, object]:
        name, expected = service.find_reviewable(image).name, known_revision(request.headers)
        _saved(lambda: take_back(service.folder, name, asked, expected))
        return state_of(known_record(service.folder, name))

    @routes.get("/sample")
    def sample() -> dict[str, object]:
        plan = _saved(lambda: read_plan(service.folder))
        known = service.catalogue.by_name()
        return {"plan": plan and {**asdict(plan), "ids": [known[name].id for name in plan.images if name in known]}}

    @routes.post("/sample", status_code=201)
    def draw(asked: SampleAsked) -> dict[str, object]:
        if _saved(lambda: read_plan(service.folder)) is not None and not asked.replace:
            raise Refusal(409, "drawn", "images are drawn already; finish them, or draw anew.")
        plan = draw_plan([*service.catalogue.entries.values()], asked.count)
        _saved(lambda: write_plan(service.folder, plan))
        return sample()

    @routes.get("/sample/estimate")
    async def measure(model: int = 0) -> dict[str, object]:
        folder, index = service.folder, service.model_index(model)
        plan = _saved(lambda: read_plan(folder))
        if plan is None:
            raise Refusal(404, "no-plan", "no images are drawn yet.")
        known = service.catalogue.by_name()
        said = service.predictions
        return await service.turns.run(lambda: _saved(lambda: estimate(folder, plan, known, said, index)))

    return routes


def _reviewed(service: Service, entry: CatalogueEntry, sizes: ImageFigures, number: int | None) -> Labels:
    """The mask of the decision in force, or of the entry called `number`."""
    versions = known_record(service.folder, entry.name).versions
    known = in_force(versions) if number is None else next((one for one in versions if one.number == number), None)
    try:
        if known is None or known.mask is None:
            raise Refusal(404, "no-review", "nobody has reviewed this image.")
        mask = read_version_mask(service.folder, entry.name, known, len(service.predictions.names))
    except EndotransferError:
        raise Refusal(404, "no-review", "the mask of this review cannot be read.") from None
    return resize_labels(mask, sizes["shown"])


def _saved(work: Callable[[], T]) -> T:
    """The result of `work`; what cannot be written becomes an answer."""
    try:
        return work()
    except FaultError as error:
        if error.fault is not None and error.fault.code == "bad-sample":
            raise Refusal(409, "bad-sample", f"reviewed/sample.yaml {error.fault.what}; {error.fault.fix}.") from None
        raise Refusal(409, "not-saved", CANNOT_SAVE) from None
    except (EndotransferError, OSError):
        raise Refusal(409, "not-saved", CANNOT_SAVE) from None
