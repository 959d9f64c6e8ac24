"""Files of anybody: no pipe is waited for, no device read to its end, no message longer than a person reads."""

import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from endotransfer import io
from endotransfer.config import read_experiment
from endotransfer.data.folders.classes import read_classes
from endotransfer.data.folders.drawn_sample import read_plan
from endotransfer.data.folders.labels_csv import read_labels
from endotransfer.data.folders.review_files import read_record, reviews_lock
from endotransfer.data.folders.review_masks import find_mask
from endotransfer.data.importers.tag_table import read_tag_table
from endotransfer.data.read.read_image import read_image
from endotransfer.data.read.video_reader import VideoReader
from endotransfer.engine.model_folder import load_model
from endotransfer.engine.read_model import read_model_weights
from endotransfer.engine.run import train
from endotransfer.engine.run_log import read_log
from endotransfer.errors import LONGEST, CheckpointError, ConfigError, DataError, EndotransferError, shown
from endotransfer.familiarity.familiarity import Familiarity
from endotransfer.familiarity.familiarity_file import FamiliarityInfo, read_familiarity
from endotransfer.familiarity.image_signs import SIGNS
from endotransfer.predict.predictor import load
from endotransfer.results import Results
from tests.model_folders import rewrite_config, write_model


def fault_of_table(path: Path) -> None:
    faults = read_labels(path).faults
    if faults:
        raise DataError(faults[0].sentence())


def lock_reviews(path: Path) -> None:
    with reviews_lock(path.parents[1]):
        pass


def read_usual(path: Path) -> Familiarity:
    limits = {"signs": list(SIGNS), "signs_limit": 1, "features_limit": 1}
    info = FamiliarityInfo.model_validate({"sha256": "0" * 64, "images": 9, "seen": None, **limits})
    return read_familiarity(path.parent, info, "copy it")


READERS: dict[str, Callable[[Path], object]] = {
    "experiment.yaml": read_experiment,
    "classes.yaml": lambda path: read_classes(path.parent),
    "labels.csv": fault_of_table,
    "config.json": lambda path: load_model(path.parent),
    "weights.safetensors": lambda path: read_model_weights(path, "0" * 64),
    "results.json": Results.read,
    "familiarity.safetensors": read_usual,
    "reviewed/a.json": lambda path: read_record(path.parents[1], "a"),
    "reviewed/sample.yaml": lambda path: read_plan(path.parents[1]),
    "reviewed/.lock": lock_reviews,
    f"reviewed/versions/{'0' * 64}.png": lambda path: find_mask(path.parents[2], path.name),
    "tags.csv": read_tag_table,
    "video.mp4": VideoReader,
    "image.png": read_image,
}


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_enormous(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(20 * 10**9)


def make_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [make_pipe, make_device, make_enormous, make_folder])
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_usual_file_is_refused_at_once(name: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    if (name, make) == ("reviewed/.lock", make_enormous):
        return  # nobody reads it
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path / name)
    with pytest.raises(EndotransferError) as caught:
        READERS[name](tmp_path / name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


def test_a_log_that_is_a_pipe_is_no_log(tmp_path: Path) -> None:
    make_pipe(tmp_path / "metrics.csv")
    assert read_log(tmp_path) == []


def bomb(levels: int, merge: str = "") -> str:
    """Each line stands for nine of the line above."""
    if merge:
        lines = ["a0: &a0 {x: 1}"] + [
            f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, levels)
        ]
    else:
        lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [bomb(10), bomb(10, "merge"), "a: &a [*a]", "a: &a {b: *a}"])
def test_aliases_that_stand_for_billions_are_refused_unbuilt(text: str, tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"values|contains itself") as caught:
        read_experiment(tmp_path / "experiment.yaml")
    assert len(str(caught.value)) < 600


def test_a_small_file_with_aliases_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: &a {x: 1, y: [2, 3]}\nb: *a\nc: {<<: *a, y: 4}")
    assert io.read_yaml(tmp_path / "x.yaml", ConfigError, "mend it") == {
        "a": {"x": 1, "y": [2, 3]}, "b": {"x": 1, "y": [2, 3]}, "c": {"x": 1, "y": 4},
    }  # fmt: skip


def test_a_message_never_quotes_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text(f"data: {{source: a}}\nseed: {'x' * 100_000}\n{'y' * 900}: 1\n")
    with pytest.raises(ConfigError, match="seed") as caught:
        read_experiment(tmp_path / "experiment.yaml")
    assert len(str(caught.value)) < LONGEST
    assert len(str(DataError("z" * 10**6))) <= LONGEST + 10
    assert shown(int("1" + "0" * 4000) ** 2) == "a very large int"


@pytest.mark.parametrize("text", ["classes: [2020-01-01, b]", "classes: [2020-13-01, b]", "2020-01-01: [a, b]"])
def test_a_date_in_classes_yaml_is_a_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "classes.yaml").write_text(text)
    with pytest.raises(DataError, match=r"classes\.yaml"):
        read_classes(tmp_path)


@pytest.mark.parametrize(
    "setting",
    ["training.epochs", "training.steps_per_epoch", "training.accumulate", "training.workers", "training.devices",
     "model.aspp_channels", "training.log_every", "evaluation.resamples"],
)  # fmt: skip
def test_numbers_beyond_any_use_are_refused(setting: str, tmp_path: Path) -> None:
    (tmp_path / "experiment.yaml").write_text("data: {source: a}\n")
    with pytest.raises(ConfigError, match=rf"{setting}.*less than or equal"):
        read_experiment(tmp_path / "experiment.yaml", [f"{setting}={10**12}"])


def test_files_have_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        io.write_atomically(tmp_path / "secret", "x", DataError)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_strict_umask_holds_for_a_whole_run(make_experiment: Any, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        train(make_experiment("tagged", "semantic_transfer", epochs=1, steps_per_epoch=1), tmp_path / "run")
    finally:
        os.umask(before)
    open_to_others = [path for path in (tmp_path / "run").rglob("*") if path.stat().st_mode & 0o077]
    assert open_to_others == []


# --- models ----------------------------------------------------------------------------------------------------------


def test_every_flipped_bit_of_a_models_config_is_noticed(tmp_path: Path) -> None:
    path = write_model(tmp_path) / "config.json"
    whole = path.read_bytes()
    described = json.loads(whole)
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole) * 8, size=60).tolist():
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            load_model(tmp_path)
        except CheckpointError:
            continue
        same = {key: value for key, value in json.loads(flipped).items() if key in described and key != "checksum"}
        assert same == {key: value for key, value in described.items() if key in same}


def test_a_config_of_before_checksums_loads_with_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_model(tmp_path) / "config.json"
    described = json.loads(path.read_text())
    del described["checksum"]
    path.write_text(json.dumps(described))
    load_model(tmp_path)
    assert "has no checksum" in capsys.readouterr().err


def with_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Exchange weights and give the folder the checksum that goes with them."""
    path = folder / "weights.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    rewrite_config(folder, lambda info: {**info, "sha256": digest})


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    write_model(tmp_path)
    with_weights(tmp_path, lambda weights: weights["pixel_classifier.bias"].fill_(torch.nan))
    with pytest.raises(CheckpointError, match=r"'pixel_classifier\.bias' holds values that are not finite"):
        load_model(tmp_path)


def test_outputs_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    write_model(tmp_path)
    with_weights(tmp_path, lambda weights: [one.fill_(3e38) for one in weights.values() if one.is_floating_point()])
    with pytest.raises(CheckpointError, match="output is not finite"):
        load(tmp_path, "cpu").predict(np.full((48, 64, 3), 200, np.uint8))


def test_a_network_is_not_built_before_its_weights_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path)

    def enlarge(info: dict[str, dict[str, dict[str, dict[str, object]]]]) -> object:
        info["network"]["settings"]["model"]["aspp_channels"] = 4096
        return info

    rewrite_config(tmp_path, enlarge)
    monkeypatch.setattr("endotransfer.engine.model_folder.build_undrawn", lambda build: pytest.fail("it was built"))
    with pytest.raises(CheckpointError, match="belongs to another model"):
        load_model(tmp_path)


def test_weights_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is exchanged behind the check is not what is loaded."""
    write_model(tmp_path)
    before = load_model(tmp_path).module.state_dict()
    path = tmp_path / "weights.safetensors"
    read = io.read_bounded

    def read_then_swap(*arguments: object) -> bytes:
        content = read(*arguments)  # type: ignore[arg-type]
        if arguments[0] == path:
            path.write_bytes(b"exchanged")
        return content

    monkeypatch.setattr("endotransfer.engine.read_model.read_bounded", read_then_swap)
    after = load_model(tmp_path).module.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
