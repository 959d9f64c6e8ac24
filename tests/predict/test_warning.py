"""Images unlike the training images, as whoever predicts meets them: tables, lines, COCO, videos, Python."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import endotransfer
from endotransfer.engine.model_folder import load_model
from endotransfer.familiarity.familiarity_file import FILE
from endotransfer.inference import InferenceGeometry
from endotransfer.predict.data_frame import prediction_row
from endotransfer.predict.predict_files import predict_files
from endotransfer.predict.predictor import Predictor
from tests.model_folders import write_model
from tests.predict.conftest import MakeVideo


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Two as the model was fitted to, and two that are not."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    draw = np.random.default_rng(3)
    for name in ("cloud1", "cloud2"):
        cloud = Image.fromarray(draw.integers(0, 256, (4, 5, 3), dtype=np.uint8))
        cloud.resize((64, 48), Image.Resampling.BICUBIC).save(folder / f"{name}.png")
    Image.fromarray(np.zeros((48, 64, 3), np.uint8)).save(folder / "black.png")
    Image.fromarray(draw.integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(folder / "noise.png")
    return folder


def rows_of(table: Path) -> dict[str, dict[str, Any]]:
    with table.open(newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_tables_and_the_last_line_name_what_was_not_seen(
    model: Path, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = predict_files(model, [pictures], tmp_path / "out", masks="rle", device="cpu")
    rows = rows_of(table)
    assert {name: row["unfamiliar"] for name, row in rows.items()} == {
        "black": "almost black", "cloud1": "", "cloud2": "", "noise": "noise",
    }  # fmt: skip
    assert {name for name, row in rows.items() if float(row["unfamiliarity"]) > 1} == {"black", "noise"}
    said = " ".join(capsys.readouterr().out.split())
    assert "warning: 2 of 4 images (50 %) are unlike what the model was trained for (1 almost black, 1 noise)" in said
    by_name = {one["name"]: one for one in json.loads((tmp_path / "out" / "predictions.json").read_text())["pictures"]}
    assert by_name["black"]["unfamiliar"] == "almost black" and by_name["cloud1"]["unfamiliar"] is None
    coco = json.loads((tmp_path / "out" / "masks.coco.json").read_text())["images"]
    assert [one["unfamiliar"] for one in coco] == ["almost black", None, None, "noise"]


def test_a_model_from_before_says_nothing(pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_model(tmp_path / "model", familiarity=False)
    assert not (model / FILE).exists() and "familiarity" not in json.loads((model / "config.json").read_text())
    rows = rows_of(predict_files(model, [pictures], tmp_path / "out", masks="rle", device="cpu"))
    assert {row["unfamiliar"] for row in rows.values()} == {row["unfamiliarity"] for row in rows.values()} == {""}
    assert "warning" not in capsys.readouterr().out
    assert "unfamiliar" not in (tmp_path / "out" / "predictions.json").read_text()
    assert "unfamiliar" not in (tmp_path / "out" / "masks.coco.json").read_text()


def test_frames_of_a_video_are_flagged_and_counted(
    model: Path, make_video: MakeVideo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video = make_video("v.mp4", frames=6)
    rows = predict_files(model, [video], tmp_path / "out", device="cpu").read_text().splitlines()
    flagged = sum(not row.endswith(",") for row in rows[1:])
    assert flagged == 6  # sharp blocks are no clouds
    said = " ".join(capsys.readouterr().out.split())
    assert f"warning: 6 of 6 frames of {video} (100 %) are unlike" in said


def test_python_has_flag_score_and_reason(model: Path, pictures: Path) -> None:
    predictor = endotransfer.load(model, "cpu")
    black, cloud = (predictor.predict(pictures / name) for name in ("black.png", "cloud1.png"))
    assert black.unfamiliar is True and cloud.unfamiliar is False
    assert black.unfamiliarity is not None and cloud.unfamiliarity is not None
    assert black.unfamiliarity.score > 1 >= cloud.unfamiliarity.score and cloud.unfamiliarity.reason is None
    assert prediction_row("b", black)["unfamiliar"] == "almost black"
    assert "warning: almost black" in (black._repr_html_() or "")
    assert "warning" not in (cloud._repr_html_() or "")


def test_the_score_costs_no_second_pass_and_is_the_same_with_flips_and_in_batches(model: Path, pictures: Path) -> None:
    files = sorted(pictures.iterdir())
    plain, flipped = endotransfer.load(model, "cpu"), endotransfer.load(model, "cpu", flips=True)
    assert isinstance(plain, Predictor)
    passes: list[int] = []
    plain.model.module.register_forward_hook(lambda *_: passes.append(1))
    alone = [plain.predict(file).unfamiliarity for file in files]
    assert len(passes) == len(files)
    for others in (flipped.predict_batch(files), plain.predict_batch(files)):
        for one, other in zip(alone, others, strict=True):
            assert one is not None and other.unfamiliarity is not None
            assert other.unfamiliarity.score == pytest.approx(one.score, rel=1e-4)
            assert other.unfamiliarity.reason == one.reason


def test_a_sliding_window_gives_features_too(model: Path, pictures: Path) -> None:
    trained = load_model(model)
    object.__setattr__(trained, "geometry", InferenceGeometry((48, 64), window=(48, 40)))
    found = Predictor(trained, torch.device("cpu")).predict(pictures / "noise.png").unfamiliarity
    assert found is not None and found.reason == "noise"
