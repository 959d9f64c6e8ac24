"""Bundles of a tiny network, one for each task; exporting takes seconds, so it is done once."""

from pathlib import Path
from typing import Any

import pytest

from endotransfer.export import network
from endotransfer.export.bundle import write_bundle
from tests.model_folders import TASKS, write_model


@pytest.fixture(scope="session")
def networks() -> dict[str, Any]:
    """TaskInfo -> its network as ONNX; filled by `bundles`."""
    return {}


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory, networks: dict[str, Any]) -> dict[str, tuple[Path, Path]]:
    """TaskInfo -> (model folder, bundle)."""
    root, plain = tmp_path_factory.mktemp("bundles"), network.export_network
    for task in TASKS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                network, "export_network", lambda *given, w=task, **how: networks.setdefault(w, plain(*given, **how))
            )
            write_bundle(write_model(root / f"{task}-model", task), root / task)
    return {task: (root / f"{task}-model", root / task) for task in TASKS}
