"""Routes of the first tab: images, what the models say of them, and uploads."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from endotransfer.batch import LESION, NORMAL
from endotransfer.serve.answers import Refusal
from endotransfer.serve.image_catalogue import ORDERS, CatalogueEntry, in_order
from endotransfer.serve.image_figures import ImageFigures, ModelFigures
from endotransfer.serve.pictures import SuperpixelSize
from endotransfer.serve.review_state import known_record, state_of
from endotransfer.serve.service import Service
from endotransfer.serve.uploads import form_file

_TAGS = {LESION: "lesion", NORMAL: "normal"}
_PNG = "image/png"
_PICTURES = {"picture": "image/jpeg", "thumbnail": "image/jpeg", "mask-thumbnail": _PNG}


def image_routes(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api")

    @routes.get("/about")
    async def about() -> dict[str, object]:
        return service.about()

    @routes.get("/images")
    def images(order: str = "name") -> Response:
        if order not in ORDERS:
            raise Refusal(422, "invalid", f"images are sorted by {', '.join(ORDERS)}.")
        service.survey.start()
        figures = service.predictions.figures
        entries = in_order(service.catalogue.entries.values(), order, figures)
        rows = [_row(service, entry) for entry in entries]
        return JSONResponse({"images": rows, "survey": service.survey.progress()})  # as it is: rows are plain

    @routes.get("/survey")
    async def survey() -> dict[str, int]:
        return service.survey.progress()

    @routes.get("/images/{image}")
    async def details(image: str) -> dict[str, object]:
        entry = service.find(image)
        return {**await service.look(entry), **_row(service, entry)}

    @routes.get("/images/{image}/map/{model}")
    async def probability_map(image: str, model: int) -> Response:
        return Response(await service.map(service.find(image), service.model_index(model)), media_type=_PNG)

    @routes.get("/images/{image}/truth")
    async def truth(image: str) -> Response:
        return Response(await service.truth(service.find(image)), media_type=_PNG)

    @routes.get("/images/{image}/superpixels")
    async def superpixels(image: str, size: SuperpixelSize = "medium") -> Response:
        return Response(await service.superpixels(service.find(image), size), media_type=_PNG)

    @routes.get("/images/{image}/{kind}")
    async def picture(image: str, kind: str) -> Response:
        if kind not in _PICTURES:
            raise Refusal(404, "unknown", "there is nothing here.")
        return Response(await service.picture(service.find(image), kind), media_type=_PICTURES[kind])

    @routes.post("/uploads", status_code=201)
    async def upload(request: Request) -> dict[str, str]:
        async with form_file(request, "image", service.forms) as (content, _):
            entry = await service.turns.run(lambda: service.uploads.add(content))
        return {"id": entry.id}

    return routes


def _row(service: Service, entry: CatalogueEntry) -> dict[str, object]:
    """An image as the list shows it: what is known without computing anything."""
    figures: ImageFigures = service.predictions.figures.get(entry.id, {})
    record = known_record(None if entry.uploaded else service.catalogue.folder, entry.name)
    first = figures["models"][0] if "models" in figures else ModelFigures()
    return {
        "id": entry.id,
        "name": entry.name,
        "tag": _TAGS.get(entry.sample.tag),
        "finding": entry.sample.finding,
        "split": entry.sample.split,
        "patient": _patient(entry),
        "truth": entry.sample.mask is not None and service.predictions.truths,
        **state_of(record),
        "unreadable": entry.id in service.survey.unreadable,
        "area": figures.get("area"),
        "doubt": figures.get("doubt"),
        "disagreement": figures.get("disagreement"),
        "iou": first.get("iou_lesion"),
    }


def _patient(entry: CatalogueEntry) -> str | None:
    """What ties the image to others: its patient, sequence or cluster; None for an image by itself."""
    group, key = entry.sample.group, entry.sample.key
    return None if group in ("", key) else group.removeprefix(f"{key.rpartition('/')[0]}/")
