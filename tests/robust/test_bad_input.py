"""A user's mistake: one sentence that names the thing and the fix, its own exit code, no traceback, nothing lost."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from endotransfer.engine.checkpoint import list_steps
from tests.model_folders import rewrite_config
from tests.robust.conftest import CHECKPOINT, CONFIG, DATA, DIVERGED, says


def test_missing_experiment(command: Any, tmp_path: Path) -> None:
    code, output = command("train", tmp_path / "none.yaml", "--out", tmp_path / "run")
    assert code == CONFIG
    says(output, "none.yaml", "check the path")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("data: [", ["YAML"]),
        ("- a\n- b", ["mapping"]),
        ("data: {source: a}\ntraning: {}", ["traning", "did you mean 'training'"]),
        ("data: {source: a, sise: 3}", ["data.sise", "did you mean 'size'"]),
        ("data: {source: a}\ntraining: {lr: -1}", ["training.lr", "greater than 0"]),
        ("training: {lr: 1}", ["'data' is missing"]),
        ("data: {source: a}\nmethod: {preset: paper}", ["method.name"]),
    ],
)
def test_experiment_that_cannot_be_read(command: Any, tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    code, output = command("train", path, "--out", tmp_path / "run")
    assert code == CONFIG
    says(output, *words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("method.name=semantic_tranfer", ["semantic_tranfer", "did you mean 'semantic_transfer'"]),
        ("method.etta=1", ["etta"]),
        ("method.preset=fast", ["no preset 'fast'"]),
        ("model.backbone=resnet51", ["resnet51"]),
        ("model={backbone: test_resnet, pretrained: false, norm: frozen}", ["norm: group"]),
        ("training.lr", ["a.b=c"]),
        ("seed.deep=1", ["seed"]),
        ("training.accelerator=cuda", ["no GPU"]),
    ],
)
def test_setting_that_cannot_be(
    command: Any, experiment: Path, tmp_path: Path, setting: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    code, output = command("train", experiment, "--out", tmp_path / "run", "--set", setting)
    assert code == CONFIG
    says(output, *words)
    assert not (tmp_path / "run").exists()


def first_of(folder: Path) -> Path:
    return sorted(folder.iterdir())[0]


def damage_missing_folder(study: Path) -> str:
    shutil.rmtree(study / "capsule")
    return "capsule"


def damage_truncated_image(study: Path) -> str:
    path = first_of(study / "capsule" / "images")
    path.write_bytes(path.read_bytes()[:200])
    return path.name


def damage_empty_image(study: Path) -> str:
    path = first_of(study / "gastroscopy" / "images")
    path.write_bytes(b"")
    return path.name


def damage_mask_of_another_size(study: Path) -> str:
    path = first_of(study / "gastroscopy" / "masks")
    Image.fromarray(np.zeros((9, 9), np.uint8)).save(path)
    return path.stem


def damage_unknown_class(study: Path) -> str:
    path = first_of(study / "gastroscopy" / "masks")
    mask = np.asarray(Image.open(path)).copy()
    mask[:3] = np.array([[1], [2], [3]], np.uint8)
    Image.fromarray(mask // 255 + (mask < 9) * mask).save(path)
    return path.name


def damage_tag_against_mask(study: Path) -> str:
    table = study / "gastroscopy" / "labels.csv"
    masks = {path.stem for path in (study / "gastroscopy" / "masks").iterdir()}
    lines = table.read_text().splitlines()
    index = next(i for i, line in enumerate(lines) if ",lesion," in line and line.split(",")[0] in masks)
    lines[index] = lines[index].replace(",lesion,", ",normal,")
    table.write_text("\n".join(lines) + "\n")
    return lines[index].split(",")[0]


def damage_empty_split(study: Path) -> str:
    table = study / "capsule" / "labels.csv"
    table.write_text(table.read_text().replace(",test", ",train"))
    return "test"


DAMAGES = [
    damage_missing_folder, damage_truncated_image, damage_empty_image, damage_mask_of_another_size,
    damage_unknown_class, damage_tag_against_mask, damage_empty_split,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__.removeprefix("damage_"))
def test_data_that_cannot_be_used(
    command: Any, experiment: Path, study: Path, tmp_path: Path, damage: Callable[[Path], str]
) -> None:
    named = damage(study)
    code, output = command("train", experiment, "--out", tmp_path / "run", "--set", "method.name=semantic_transfer")
    assert code == DATA
    says(output, named)


def test_a_contradiction_in_the_test_set_is_found_before_training(
    command: Any, experiment: Path, study: Path, tmp_path: Path
) -> None:
    table = study / "capsule" / "labels.csv"
    lines = table.read_text().splitlines()
    index = next(i for i, line in enumerate(lines) if ",lesion," in line and line.endswith("test"))
    lines[index] = lines[index].replace(",lesion,", ",normal,")
    table.write_text("\n".join(lines) + "\n")
    code, output = command("train", experiment, "--out", tmp_path / "run")
    assert code == DATA
    says(output, "tagged normal")
    assert not (tmp_path / "run" / "checkpoints").exists()
    code, output = command("train", experiment, "--out", tmp_path / "kept", "--set", "data.contradictions=keep")
    assert code == 0
    assert "tagged normal" in output


def test_no_source_mask_at_all(command: Any, experiment: Path, study: Path, tmp_path: Path) -> None:
    shutil.rmtree(study / "gastroscopy" / "masks")
    code, output = command("train", experiment, "--out", tmp_path / "run")
    assert code == DATA
    says(output, "no source image has a mask")


def test_a_run_is_not_overwritten(command: Any, experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert command("train", experiment, "--out", run)[0] == 0
    before = (run / "results.json").read_text()
    code, output = command("train", experiment, "--out", run)
    assert code == CONFIG
    says(output, "--resume", "--force")
    assert (run / "results.json").read_text() == before
    assert command("train", experiment, "--out", run, "--force")[0] == 0


def test_a_folder_of_other_things_is_never_replaced(command: Any, experiment: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    code, output = command("train", experiment, "--out", tmp_path / "precious", "--force")
    assert code == CONFIG
    says(output, "no run")
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "years of work"


def test_resume_of_nothing_and_of_something_else(command: Any, experiment: Path, tmp_path: Path) -> None:
    code, output = command("train", experiment, "--out", tmp_path / "run", "--resume")
    assert code == CONFIG
    says(output, "no run to resume")
    command("train", experiment, "--out", tmp_path / "run")
    code, output = command("train", experiment, "--out", tmp_path / "run", "--resume", "--set", "training.lr=0.5")
    assert code == CONFIG
    says(output, "training.lr")


def test_a_checkpoint_cut_short_falls_back_and_says_so(command: Any, experiment: Path, tmp_path: Path) -> None:
    run, every_step = tmp_path / "run", "training.checkpoint_every=1"
    command("train", experiment, "--out", run, "--set", every_step)
    first, newest = list_steps(run / "checkpoints")
    weights = run / "checkpoints" / f"step-{newest:08d}" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    code, output = command("train", experiment, "--out", run, "--resume", "--set", every_step)
    assert code == 0
    assert "warning" in output
    assert f"{first}" in output


def test_every_checkpoint_damaged(command: Any, experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command("train", experiment, "--out", run)
    for weights in run.glob("checkpoints/*/weights.safetensors"):
        weights.write_bytes(b"")
    code, output = command("train", experiment, "--out", run, "--resume")
    assert code == CHECKPOINT
    says(output, "step-")


def test_a_damaged_or_foreign_model(command: Any, experiment: Path, study: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command("train", experiment, "--out", run)
    code, output = command("evaluate", tmp_path, "--data", study / "capsule")
    assert code == CHECKPOINT
    says(output, "no trained model")
    weights = run / "model" / "weights.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-10])
    code, output = command("evaluate", run, "--data", study / "capsule")
    assert code == CHECKPOINT
    says(output, "checksum")
    info = run / "model" / "config.json"
    weights.write_bytes(whole)
    info.write_text(info.read_text().replace('"aspp_channels": 16', '"aspp_channels": 24'))
    code, output = command("evaluate", run, "--data", study / "capsule")
    assert code == CHECKPOINT
    says(output, "checksum differs")
    rewrite_config(run / "model", lambda changed: changed)
    code, output = command("evaluate", run, "--data", study / "capsule")
    assert code == CHECKPOINT
    says(output, "another model")


def test_divergence_stops_before_the_update(command: Any, experiment: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    explode = [
        "--set",
        "training.lr=1e30",
        "--set",
        "training.steps_per_epoch=9",
        "--set",
        "training.checkpoint_every=1",
    ]
    code, output = command("train", experiment, "--out", run, *explode)
    assert code == DIVERGED
    says(output, "not finite", "gastroscopy/", "training.lr")
    report = yaml.safe_load((run / "diverged.json").read_text())
    assert report["guilty"]
    assert report["images"]
    assert list_steps(run / "checkpoints")


def test_no_write_permission(command: Any, experiment: Path) -> None:
    code, output = command("train", experiment, "--out", "/proc/endotransfer-run")
    assert code == CONFIG
    says(output, "/proc/endotransfer-run", "--out")


def test_predict_names_what_it_could_not_read(command: Any, experiment: Path, study: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command("train", experiment, "--out", run)
    broken = first_of(study / "capsule" / "images")
    broken.write_bytes(b"not an image")
    code, output = command("predict", run, study / "capsule" / "images", "--out", tmp_path / "predicted")
    assert code == 0
    assert "not a medical device" in output
    assert f"not predicted: {broken}" in output.replace("\n", "")
    assert "11 of 12 images" in output
    assert len(list((tmp_path / "predicted" / "masks").iterdir())) == 11
    code, output = command("predict", run, study / "capsule" / "images", "--out", tmp_path / "predicted")
    assert code == DATA
    says(output, "not empty")
    code, output = command("predict", run, tmp_path / "nowhere", "--out", tmp_path / "other")
    assert code == DATA
    says(output, "nowhere")
