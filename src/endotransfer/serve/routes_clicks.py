"""Routes of click-to-segment: points or a box on an image become a mask."""

from typing import Annotated

import numpy as np
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from endotransfer.predict.prompts.prompt import Point, Prompt
from endotransfer.predict.prompts.prompted_image import MOST_POINTS
from endotransfer.serve.answers import Refusal
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.pictures import SHOWN_SIDE, as_png
from endotransfer.serve.service import Service, told

Place = Annotated[float, Field(ge=-0.5, le=SHOWN_SIDE, allow_inf_nan=False)]  # in pixels of the image as it is shown


class PointAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: Place
    y: Place
    positive: bool = True


class PromptAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    points: list[PointAsked] = Field(default=[], max_length=MOST_POINTS)
    box: tuple[Place, Place, Place, Place] | None = None  # left, top, right, bottom

    def prompt(self) -> Prompt:
        found = Prompt(tuple(Point(one.x, one.y, one.positive) for one in self.points), self.box)
        if found.empty:
            raise Refusal(422, "invalid", "click on the lesion first, or draw a box around it.")
        if self.box is not None and not (self.box[0] < self.box[2] and self.box[1] < self.box[3]):
            raise Refusal(422, "invalid", "a box is its left, top, right and bottom, in this order.")
        return found


def click_routes(service: Service) -> APIRouter:
    routes, images = APIRouter(prefix="/api"), service.prepared

    async def made_ready(entry: CatalogueEntry) -> bool:
        """Whether the image is answered for blindly."""
        path, blind = entry.sample.image, service.measures(entry)
        if not images.is_ready(path, blind=blind):  # or a click would wait for the image that is prepared ahead
            await service.preparing.run(lambda: told(lambda: images.prepare(path, blind=blind)))
        return blind

    @routes.post("/images/{image}/segment")
    async def segment(image: str, asked: PromptAsked) -> Response:
        entry, prompt = service.find(image), asked.prompt()
        blind = await made_ready(entry)

        def answer() -> bytes:
            area = told(lambda: images.segment(entry.sample.image, prompt, blind=blind))
            return as_png(area.astype(np.uint8))

        return Response(await service.turns.run(answer), media_type="image/png")

    @routes.post("/images/{image}/prepare", status_code=204)
    async def prepare(image: str) -> None:
        await made_ready(service.find(image))

    return routes
