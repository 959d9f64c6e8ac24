"""Routes of the second tab: the training runs behind the models."""

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from endotransfer.engine.map_index import LARGEST_MAP
from endotransfer.errors import DataError
from endotransfer.io import read_bounded
from endotransfer.serve.answers import refuse_unknown
from endotransfer.serve.run_history import find_map, propagation_maps, read_curves, read_results
from endotransfer.serve.service import Service


def run_routes(service: Service) -> APIRouter:
    routes = APIRouter(prefix="/api/runs")

    @routes.get("")
    def runs() -> dict[str, list[dict[str, object]]]:
        known = {entry.sample.key: entry.id for entry in service.catalogue.entries.values()}
        return {"runs": [_run(model.name, model.run, known) for model in service.models]}

    @routes.get("/{run}/propagation/{image}/{epoch}")
    def propagated(run: int, image: int, epoch: int) -> Response:
        path = find_map(service.models[service.model_index(run)].run, image, epoch)
        try:
            return Response(read_bounded(path, DataError, largest=LARGEST_MAP), media_type="image/png")
        except (DataError, OSError):
            raise refuse_unknown("map") from None

    return routes


def _run(name: str, path: Path, known: dict[str, str]) -> dict[str, object]:
    grown = [
        {"name": key, "epochs": sorted(epochs), "picture": known.get(key)}
        for key, epochs in propagation_maps(path).items()
    ]
    return {"name": name, "results": read_results(path), "curves": read_curves(path), "propagation": grown}
