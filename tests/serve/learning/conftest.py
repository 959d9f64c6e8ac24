"""A served run whose target folder a test may write to, as a person has it."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from endotransfer.data.folders.review_record import Review
from endotransfer.data.folders.reviewed import write_review
from endotransfer.engine.run import train
from endotransfer.testing.fixtures import MakeExperiment

MakeStudy = Callable[..., tuple[Path, Path]]


@pytest.fixture
def make_study(tasks: dict[str, Path], tmp_path: Path, make_experiment: MakeExperiment) -> MakeStudy:
    """`make_study(epochs=...)`: a finished run, and its target folder."""

    def make(**training: Any) -> tuple[Path, Path]:
        data = Path(shutil.copytree(tasks["tagged"], tmp_path / "data"))
        train(make_experiment("tagged", "source_only", None, data=data, **training), tmp_path / "runs" / "first")
        return tmp_path / "runs" / "first", data / "capsule"

    return make


def confirm_truth(folder: Path, names: list[str]) -> None:
    for name in names:
        mask = (np.asarray(Image.open(folder / "masks" / f"{name}.png")) > 0).astype(np.uint8)
        write_review(folder, name, Review("corrected", "Ada", "2026-01-01T00:00:00Z", None, "0"), mask)


def predicted(client: TestClient) -> list[dict[str, Any]]:
    """The rows of all images, once each was predicted."""
    while True:
        found = client.get("/api/images").json()
        if found["survey"]["done"] == found["survey"]["total"]:
            return list(found["images"])
        time.sleep(0.05)
