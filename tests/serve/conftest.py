"""Two tiny models, a folder of their target images that a test may write to, and a page's view of the service."""

import io
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from endotransfer.predict.predictor import Predictor, load
from endotransfer.serve import predictions
from endotransfer.serve.app import create_app
from endotransfer.testing.fixtures import MakeExperiment
from tests.served import train_two

OWN = {"X-Endotransfer": "page"}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, make_experiment: MakeExperiment) -> list[Path]:
    return train_two(tmp_path_factory.mktemp("served"), make_experiment)


@pytest.fixture
def folder(tasks: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(tasks["tagged"] / "capsule", tmp_path / "capsule"))


MakeClient = Callable[..., TestClient]


@cache
def load_once(run: Path) -> Predictor:
    return load(run)


@pytest.fixture
def make_client(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeClient]:
    """`make_client(runs, images, token=..., address=...)`: the service as a browser on this machine meets it."""
    clients: list[TestClient] = []
    monkeypatch.setattr(predictions, "load", load_once)

    def make(runs: list[Path], images: Path | None = None, *, address: str = "127.0.0.1", **more: Any) -> TestClient:
        app = create_app(runs, images, **more)
        client = TestClient(
            app, base_url="http://127.0.0.1:8731", client=(address, 50000), headers=OWN, raise_server_exceptions=False
        )
        clients.append(client.__enter__())
        return client

    yield make
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(make_client: MakeClient, runs: list[Path], folder: Path) -> TestClient:
    return make_client(runs, folder)


def ids(client: TestClient) -> dict[str, str]:
    """Image name -> id."""
    return {row["name"]: row["id"] for row in client.get("/api/images").json()["images"]}


def saved(image: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    content = io.BytesIO()
    image.save(content, format, **options)
    return content.getvalue()


def png(values: np.ndarray) -> bytes:
    return saved(Image.fromarray(values.astype(np.uint8)))


def pixels(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image)
