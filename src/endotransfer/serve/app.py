"""The viewer as an application: `create_app([RUN], DIR)`.  Research use only, not a medical device."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from endotransfer.serve.answers import Refusal, on_http, on_invalid, on_refusal, refuse_unknown
from endotransfer.serve.routes_clicks import click_routes
from endotransfer.serve.routes_export import export_routes
from endotransfer.serve.routes_images import image_routes
from endotransfer.serve.routes_learning import learning_routes
from endotransfer.serve.routes_review import review_routes
from endotransfer.serve.routes_runs import run_routes
from endotransfer.serve.routes_video import video_routes
from endotransfer.serve.security import AccessControl
from endotransfer.serve.service import Service

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def create_app(
    runs: list[Path], images: Path | None, *, token: str | None = None, prompt_model: Path | None = None
) -> FastAPI:
    """The service for one run or two and a folder of images.  Without a token it answers on loopback alone.

    `prompt_model`: a promptable network, which answers clicks: a folder, a file or `hf://owner/name`; without one
    super-pixels do.
    """
    service = Service(runs, images, prompt_model)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="endotransfer", docs_url=None, redoc_url=None, openapi_url=None, lifespan=life, redirect_slashes=False,
        exception_handlers={Refusal: on_refusal, HTTPException: on_http, RequestValidationError: on_invalid},
    )  # fmt: skip
    app.add_middleware(AccessControl, token=token)
    app.state.service = service
    app.include_router(review_routes(service))  # before the images: `/reviewed` is no kind of picture
    app.include_router(image_routes(service))
    app.include_router(click_routes(service))
    app.include_router(run_routes(service))
    app.include_router(video_routes(service))
    app.include_router(learning_routes(service))
    app.include_router(export_routes(service))
    _add_page(app)
    return app


def _add_page(app: FastAPI) -> None:
    """The files of the page, read once: a name is looked up among them and never becomes a path."""
    folder = files("endotransfer.serve").joinpath("page")
    page = {entry.name: entry.read_bytes() for entry in folder.iterdir() if Path(entry.name).suffix in _KINDS}
    # Every module at once: found import by import, they come in a dozen rounds.
    modules = "\n".join(f'<link rel="modulepreload" href="/page/{name}">' for name in page if name.endswith(".js"))
    page["index.html"] = page["index.html"].replace(b"</head>", f"{modules}\n</head>".encode())

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/")
    async def index() -> Response:
        return Response(page["index.html"], media_type="text/html", headers={"Cache-Control": "no-cache"})

    @app.get("/page/{name}")
    async def asset(name: str) -> Response:
        if name not in page:
            raise refuse_unknown("file")
        kind = _KINDS[Path(name).suffix]
        return Response(page[name], media_type=kind, headers={"Cache-Control": "no-cache"})
