"""Routes of the review of videos: what there is, prediction in the background, carried masks, the curve as a table."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from endotransfer.data.folders.frame_names import frame_name
from endotransfer.serve.answers import Refusal
from endotransfer.serve.review import NAME
from endotransfer.serve.review_rules import known_revision
from endotransfer.serve.review_state import known_record, state_of
from endotransfer.serve.routes_images import row_of
from endotransfer.serve.service import Service, told
from endotransfer.serve.uploads import form_file
from endotransfer.serve.video.carried_reviews import accept_carried, dismiss_carried
from endotransfer.serve.video.curve_table import curve_table
from endotransfer.serve.video.video_catalogue import VideoEntry

Who = Annotated[str, Field(min_length=1, max_length=80, pattern=NAME)]


class RateAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rate: float = Field(1.0, ge=0.01, le=1000, allow_inf_nan=False)  # frames a second


class CarryAsked(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    who: Who


class KnownFrame(BaseModel):
    model_config = ConfigDict(extra="forbid")
    frame: int = Field(ge=0)
    revision: int = Field(ge=0)  # that the page knows of


class CarriedAsked(CarryAsked):
    what: Literal["accept", "dismiss"]
    frames: list[KnownFrame] = Field(min_length=1, max_length=1000)


def video_routes(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api/videos")
    _add_reading(routes, service)
    _add_predicting(routes, service)
    _add_carrying(routes, service)
    return routes


def _add_reading(routes: APIRouter, service: Service) -> None:
    videos = service.videos

    @routes.get("")
    async def listed() -> dict[str, object]:
        def answer() -> dict[str, object]:
            videos.go_on()
            return {"videos": [_row(service, entry) for entry in [*videos.catalogue.entries.values()]]}

        return await service.turns.run(answer)

    @routes.post("", status_code=201)
    async def upload(request: Request) -> dict[str, object]:
        async with form_file(request, "video", service.forms) as (content, fields):
            name = "".join(letter for letter in fields.get("name", "") if letter.isprintable())[:80] or "video"
            entry = await service.turns.run(lambda: told(lambda: videos.catalogue.add(content, name)))
            return _row(service, entry)

    @routes.get("/{video}")
    async def details(video: str) -> dict[str, object]:
        entry = videos.catalogue.find(video)
        return await service.turns.run(lambda: told(lambda: _details(service, entry)))

    @routes.get("/{video}/frames/{number}")
    async def frame(video: str, number: int) -> dict[str, object]:
        """The frame as a row of the list of images; from now on it is an image like any other."""
        entry = videos.catalogue.find(video)

        def answer() -> dict[str, object]:
            videos.facts(entry)
            found = videos.catalogue.frame(entry, number)
            videos.keep_picture(entry, number)
            return row_of(service, found)

        return await service.turns.run(lambda: told(answer))

    @routes.get("/{video}/curve")
    async def curve(video: str) -> Response:
        entry = videos.catalogue.find(video)

        def answer() -> str:
            return curve_table(videos.facts(entry).index.times, videos.figures(entry), videos.records(entry))

        text = await service.turns.run(lambda: told(answer))
        return Response(
            text, media_type="text/csv", headers={"Content-Disposition": 'attachment; filename="curve.csv"'}
        )


def _add_predicting(routes: APIRouter, service: Service) -> None:
    videos = service.videos

    @routes.get("/{video}/walk")
    async def progress(video: str, since: int = 0) -> dict[str, object]:
        """How far it is, and the frames that became known after the first `since`."""
        entry = videos.catalogue.find(video)
        found = await service.turns.run(lambda: told(lambda: [*videos.figures(entry).items()]))
        return {"walk": asdict(videos.progress(entry)), "frames": _points(found[max(0, since) :]), "known": len(found)}

    @routes.post("/{video}/walk", status_code=201)
    async def begin(video: str, asked: RateAsked) -> dict[str, object]:
        entry = videos.catalogue.find(video)
        await service.turns.run(lambda: told(lambda: videos.begin_walk(entry, asked.rate)))
        return {"walk": asdict(videos.progress(entry))}

    @routes.delete("/{video}/walk")
    async def stop(video: str) -> dict[str, object]:
        entry = videos.catalogue.find(video)
        await service.turns.run(videos.stop)
        return {"walk": asdict(videos.progress(entry))}


def _add_carrying(routes: APIRouter, service: Service) -> None:
    videos = service.videos

    @routes.post("/{video}/frames/{number}/carry", status_code=201)
    async def carry(video: str, number: int, asked: CarryAsked, request: Request) -> dict[str, object]:
        entry, expected = videos.catalogue.find(video), known_revision(request.headers)
        await service.turns.run(lambda: told(lambda: videos.carry(entry, number, asked.who, expected)))
        return {"carrying": videos.carrying(entry)}

    @routes.get("/{video}/carry")
    def carrying(video: str) -> dict[str, object]:
        return {"carrying": videos.carrying(videos.catalogue.find(video))}

    @routes.delete("/{video}/carry")
    async def stop(video: str) -> dict[str, object]:
        entry = videos.catalogue.find(video)
        await service.turns.run(videos.stop_carrying)
        return {"carrying": videos.carrying(entry)}

    @routes.post("/{video}/carried")
    async def decide(video: str, asked: CarriedAsked) -> dict[str, object]:
        """Accept carried masks, or put them aside: each by itself, none that somebody has decided on meanwhile."""
        entry = videos.catalogue.find(video)
        return await service.turns.run(lambda: told(lambda: _decide(service, entry, asked)))


def _decide(service: Service, entry: VideoEntry, asked: CarriedAsked) -> dict[str, object]:
    folder, refused, states = service.folder, {}, {}
    for one in asked.frames:
        name = frame_name(entry.name, one.frame)
        try:
            if asked.what == "accept":
                accept_carried(folder, name, asked.who, one.revision, len(service.predictions.names))
            else:
                dismiss_carried(folder, name, asked.who, one.revision)
        except Refusal as refusal:
            refused[one.frame] = refusal.message
        states[one.frame] = state_of(known_record(folder, name))
    return {"refused": refused, "decisions": states}


def _row(service: Service, entry: VideoEntry) -> dict[str, object]:
    """A video as the list shows it; one that cannot be read says why."""
    row: dict[str, object] = {"id": entry.id, "name": entry.name, "uploaded": entry.uploaded, "fault": ""}
    try:
        facts = service.videos.facts(entry)
    except Refusal as refusal:
        return row | {"fault": refusal.message, "seconds": None, "frames": 0, "rate": None, "size": [0, 0]}
    size = [facts.height, facts.width]
    return row | {"seconds": facts.seconds, "frames": len(facts.index), "rate": facts.rate, "size": size}


def _details(service: Service, entry: VideoEntry) -> dict[str, object]:
    videos = service.videos
    facts, found = videos.facts(entry), [*videos.figures(entry).items()]
    return {
        **_row(service, entry),
        "times": facts.index.times,
        "walk": asdict(videos.progress(entry)),
        "curve": _points(found),
        "known": len(found),
        "decisions": {number: state_of(record) for number, record in videos.records(entry).items()},
        "carrying": videos.carrying(entry),
    }


def _points(found: list[tuple[int, tuple[float, float]]]) -> list[tuple[int, float, float]]:
    """[frame, area, doubt] each."""
    return [(number, round(area, 6), round(doubt, 6)) for number, (area, doubt) in found]
