"""Routes of the reviewed set's way out: start an export, follow it, fetch its file."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from starlette.responses import FileResponse

from endotransfer.export.reviewed import Form
from endotransfer.serve.exports import ExportJob
from endotransfer.serve.service import Service

SHOWN = 20  # names of what was left out


class ExportAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    form: Form


def export_routes(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api/exports")

    @routes.post("", status_code=201)
    def start(asked: ExportAsked) -> dict[str, object]:
        return _told(service.exports.start(service.folder, asked.form))

    @routes.get("/{job}")
    def follow(job: str) -> dict[str, object]:
        return _told(service.exports.find(job))

    @routes.get("/{job}/file")
    def fetch(job: str) -> FileResponse:
        form, file = service.exports.find(job).form, service.exports.file(job)
        return FileResponse(file, media_type="application/zip", filename=f"reviewed-{form}.zip")

    return routes


def _told(job: ExportJob) -> dict[str, object]:
    return {**asdict(job), "left_out": job.left_out[:SHOWN], "left_out_count": len(job.left_out)}
