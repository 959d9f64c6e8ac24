"""A small share of `python -m perf.server_kills`: the viewer killed while two reviewers save."""

import shutil
from pathlib import Path

import pytest

from endotransfer.engine.run import train
from endotransfer.testing.fixtures import MakeExperiment
from perf.server_kills import kill_servers


def test_no_decision_is_lost_and_no_mask_torn(
    tasks: dict[str, Path], make_experiment: MakeExperiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOTRANSFER_CACHE", str(tmp_path / "cache"))
    images = Path(shutil.copytree(tasks["tagged"] / "capsule", tmp_path / "capsule"))
    train(make_experiment("tagged", "source_only", epochs=1), tmp_path / "run")
    found, on_record = kill_servers(tmp_path / "run", images, tmp_path / "log", kills=3)
    # Each kill cuts off at most one save of each reviewer, which may have been written all the same.
    assert 3 <= len(found.confirmed) <= on_record <= len(found.confirmed) + found.cut_off <= len(found.confirmed) + 6
