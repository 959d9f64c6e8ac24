"""Bundles of a tiny network, one for each world; exporting takes seconds, so it is done once."""

from pathlib import Path

import pytest

from endotransfer.export.bundle import write_bundle
from tests.model_folders import WORLDS, write_model


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """World -> (model folder, bundle)."""
    root = tmp_path_factory.mktemp("bundles")
    for world in WORLDS:
        write_bundle(write_model(root / f"{world}-model", world), root / world)
    return {world: (root / f"{world}-model", root / world) for world in WORLDS}
