"""The page's types of what the service sends (page/types.d.ts) against what it does send."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from endotransfer.serve import app
from tests.serve.conftest import png

TYPES = (Path(app.__file__).parent / "page" / "types.d.ts").read_text(encoding="utf-8")
INTERFACE = re.compile(r"export interface (\w+)(?: extends ([\w\s,<>\"]+?))? \{\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(r"^  (\w+)(\??):", re.MULTILINE)


def fields(name: str) -> dict[str, bool]:
    """The fields of an interface: whether each must be there."""
    known = {called: (parents, body) for called, parents, body in INTERFACE.findall(TYPES)}
    parents, body = known[name]
    inherited: dict[str, bool] = {}
    for parent in re.findall(r"\b[A-Z]\w+", parents.replace("Omit<", "")):
        inherited |= fields(parent)
    return inherited | {field: not optional for field, optional in FIELD.findall(body)}


def compare(name: str, answer: Mapping[str, object]) -> None:
    known = fields(name)
    assert {field for field, needed in known.items() if needed} <= answer.keys(), name
    assert answer.keys() <= known.keys(), name


def answers(client: TestClient) -> Iterator[tuple[str, Any]]:
    """Each answer with the name of its interface."""
    about, listed = client.get("/api/about").json(), client.get("/api/images").json()
    yield from [("About", about), ("ModelAbout", about["models"][0]), ("Survey", listed["survey"])]
    path = f"/api/images/{listed['images'][0]['id']}"
    asked = {"review": json.dumps({"decision": "rejected", "who": "Ada", "model": 0})}
    mask = png(np.zeros(client.get(path).json()["shown"]))
    told = client.put(f"{path}/review", data=asked, files={"mask": mask}, headers={"If-Match": '"0"'})
    assert told.status_code == 200, told.text
    yield from [("ReviewState", told.json()), ("Review", told.json()["review"])]
    history, details = client.get(f"{path}/history").json(), client.get(path).json()
    yield from [("ReviewHistory", history), ("ReviewVersion", history["versions"][0]), ("Details", details)]
    yield from [("Row", row) for row in listed["images"]]
    yield from [("ModelFigures", figures) for figures in details["models"]]
    yield "Plan", client.post("/api/sample", json={"count": 2}).json()["plan"]
    yield "Learning", client.get("/api/learning").json()
    estimate = client.get("/api/sample/estimate").json()
    yield from [("Estimate", estimate), ("Readers", estimate["readers"])]
    yield "ExportJob", client.post("/api/exports", json={"form": "coco"}).json()
    run = client.get("/api/runs").json()["runs"][0]
    yield from [("Run", run), ("RunResults", run["results"]), ("Curve", next(iter(run["curves"].values())))]


def test_the_service_sends_what_the_page_expects(client: TestClient) -> None:
    for name, answer in answers(client):
        compare(name, answer)
