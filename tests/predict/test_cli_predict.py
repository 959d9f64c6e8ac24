"""`predict` and `export` as a user types them."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from endotransfer.cli.main import app
from endotransfer.errors import ConfigError
from endotransfer.export import bundle
from endotransfer.export.check import Check


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_predict_from_the_command_line(model: Path, images: Path, tmp_path: Path) -> None:
    options = ("--masks", "polygons", "--no-overlays", "--flips", "--batch", 2, "--precision", "32", "--device", "cpu")
    done = run("predict", model, images / "*.png", "--out", tmp_path / "out", *options)
    assert done.exit_code == 0 and "not a medical device" in done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "masks.coco.json", "predictions.csv", "predictions.json",
    ]  # fmt: skip


def test_options_that_mean_nothing_are_refused(model: Path, images: Path, tmp_path: Path) -> None:
    done = run("predict", model, images, "--out", tmp_path / "out", "--device", "tpu")
    assert isinstance(done.exception, ConfigError) and "the device is cpu or cuda" in str(done.exception)
    assert run("predict", model, images, "--out", tmp_path / "out", "--masks", "jpg").exit_code == 2
    done = run("export", model, "--out", tmp_path / "b", "--size", 64, 64, "--dynamic")
    assert isinstance(done.exception, ConfigError) and "contradict" in str(done.exception)


def test_export_says_how_near_the_graph_is(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def write(*given: Any, **options: Any) -> Check:
        asked.append((given, options))
        return Check(6, [(64, 80)], 2e-6)

    monkeypatch.setattr(bundle, "write_bundle", write)
    done = run("export", model, "--out", tmp_path / "b", "--size", 64, 80)
    assert done.exit_code == 0 and "at most 2.0e-06 in probability (6 images of 80 x 64)" in done.output
    assert asked == [((model, tmp_path / "b"), {"size": (64, 80), "images": None})]
