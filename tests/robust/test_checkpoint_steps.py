"""Which checkpoints stay, which one is loaded, and what happens when one is not sound."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.engine.checkpoint import (
    Checkpoint,
    list_steps,
    load_checkpoint,
    load_latest,
    save_checkpoint,
)
from endotransfer.engine.checkpoint import manifest as manifests
from endotransfer.engine.checkpoint import save as saving
from endotransfer.errors import CheckpointError


def content(step: int) -> dict[str, dict[str, Tensor]]:
    return {"weights": {"w": torch.full((5, 3), float(step))}, "optimiser": {"m": torch.arange(4) * step}}


def save(folder: Path, step: int, **options: Any) -> Path:
    return save_checkpoint(folder, step, content(step), {"step": step}, **options)


def assert_is_step(checkpoint: Checkpoint, step: int) -> None:
    assert checkpoint.step == step and checkpoint.state == {"step": step}
    assert checkpoint.tensors.keys() == content(step).keys()
    assert torch.equal(checkpoint.tensors["weights"]["w"], content(step)["weights"]["w"])
    assert torch.equal(checkpoint.tensors["optimiser"]["m"], content(step)["optimiser"]["m"])


def damage(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


# --- which checkpoints there are


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    paths = [save(tmp_path, step) for step in (1, 20, 300)]
    assert [path.name for path in paths] == ["step-00000001", "step-00000020", "step-00000300"]
    assert list_steps(tmp_path) == [20, 300] and hidden(tmp_path) == []
    assert_is_step(load_latest(tmp_path)[0], 300)


@pytest.mark.parametrize("keep", [1, 3])
def test_keep_says_how_many_stay(tmp_path: Path, keep: int) -> None:
    for step in range(5):
        save(tmp_path, step, keep=keep)
    assert list_steps(tmp_path) == list(range(5 - keep, 5))


def test_steps_are_ordered_by_number_not_by_text(tmp_path: Path) -> None:
    save(tmp_path, 99_999_999)
    save(tmp_path, 100_000_000)
    assert list_steps(tmp_path) == [99_999_999, 100_000_000]
    assert_is_step(load_latest(tmp_path)[0], 100_000_000)


@pytest.mark.parametrize("step, keep", [(-1, 2), (1, 0)])
def test_nonsense_counts_are_refused(tmp_path: Path, step: int, keep: int) -> None:
    with pytest.raises(CheckpointError, match="cannot save step"):
        save(tmp_path, step, keep=keep)


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes.txt", "step-1", "step-00000001x", ".step-00000001", ".notes.part"):
        (tmp_path / name).write_text("mine")
    for step in range(4):
        save(tmp_path, step)
    assert list_steps(tmp_path) == [2, 3] and sum(1 for p in tmp_path.iterdir() if p.is_file()) == 5


def test_leftovers_of_a_killed_save_go_with_the_next(tmp_path: Path) -> None:
    for name in (".step-00000009.part", ".step-00000007.old.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.safetensors").write_bytes(b"half")
    save(tmp_path, 1)
    assert hidden(tmp_path) == []


def test_the_same_step_can_be_saved_again(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 7, {}, {"first": True})
    save(tmp_path, 7)
    assert list_steps(tmp_path) == [7] and hidden(tmp_path) == []
    assert_is_step(load_latest(tmp_path)[0], 7)


def test_a_kill_between_the_two_renames_of_a_replacement_loses_nothing(tmp_path: Path) -> None:
    save(tmp_path, 7).rename(tmp_path / ".step-00000007.old")
    checkpoint, warnings = load_latest(tmp_path)
    assert_is_step(checkpoint, 7)
    assert warnings == [] and list_steps(tmp_path) == [7]
    save(tmp_path, 7)
    assert hidden(tmp_path) == []


def test_a_kill_after_the_second_rename_prefers_the_new_one(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 7, {}, {"first": True}).rename(tmp_path / ".step-00000007.old")
    shutil.copytree(save(tmp_path / "other", 7), tmp_path / "step-00000007")
    assert_is_step(load_latest(tmp_path)[0], 7)
    save(tmp_path, 7)
    assert hidden(tmp_path) == [] and list_steps(tmp_path) == [7]


def test_a_run_is_not_forked_behind_a_later_sound_checkpoint(tmp_path: Path) -> None:
    later = save(tmp_path, 9)
    with pytest.raises(CheckpointError, match=r"later step 9.*--resume"):
        save(tmp_path, 5)
    damage(later / "state.json")
    save(tmp_path, 5)
    assert list_steps(tmp_path) == [5]


# --- damage


@pytest.mark.parametrize("name", ["weights.safetensors", "optimiser.safetensors", "state.json", "manifest.json"])
@pytest.mark.parametrize("how", ["flip", "cut", "lengthen", "remove", "link", "pipe", "folder"])
def test_a_damaged_newest_falls_back_with_a_warning(tmp_path: Path, name: str, how: str) -> None:
    save(tmp_path, 1)
    path = save(tmp_path, 2) / name
    raw = path.read_bytes()
    path.unlink()
    match how:
        case "flip":
            path.write_bytes(raw)
            damage(path)
        case "cut":
            path.write_bytes(raw[:-1])
        case "lengthen":
            path.write_bytes(raw + b"\n")
        case "link":
            path.with_name("elsewhere").write_bytes(raw)
            path.symlink_to("elsewhere")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
    checkpoint, warnings = load_latest(tmp_path)
    assert_is_step(checkpoint, 1)
    assert len(warnings) == 1 and "step 2" in warnings[0] and str(path) in warnings[0]
    with pytest.raises(CheckpointError, match="is damaged"):
        load_checkpoint(path.parent)


def test_a_huge_manifest_is_refused_unread(tmp_path: Path) -> None:
    path = save(tmp_path, 2)
    os.truncate(path / "manifest.json", 2**40)  # sparse: takes no room
    with pytest.raises(CheckpointError, match=r"manifest\.json is larger than 17 MB"):
        load_checkpoint(path)


def test_damaged_checkpoints_do_not_count_as_kept(tmp_path: Path) -> None:
    save(tmp_path, 1)
    damage(save(tmp_path, 2) / "state.json")
    save(tmp_path, 3)
    assert list_steps(tmp_path) == [1, 3]


def test_all_damaged_names_the_newest(tmp_path: Path) -> None:
    for step in (1, 2):
        damage(save(tmp_path, step) / "manifest.json")
    with pytest.raises(CheckpointError, match=r"can be used.*step 2.*manifest.json is damaged"):
        load_latest(tmp_path)


@pytest.mark.parametrize("exists", [True, False])
def test_no_checkpoint_at_all(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path if exists else tmp_path / "absent"
    assert list_steps(folder) == []
    with pytest.raises(CheckpointError, match="there is no checkpoint in"):
        load_latest(folder)
    with pytest.raises(CheckpointError, match="there is no checkpoint at"):
        load_checkpoint(folder / "step-00000001")


def test_a_write_that_did_not_arrive_is_noticed_before_anything_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (1, 2):
        save(tmp_path, step)

    def lying_disk(path: Path, raw: bytes, error: type[CheckpointError]) -> None:
        path.write_bytes(raw)
        if path.name == "weights.safetensors":
            damage(path)

    monkeypatch.setattr(saving, "write_atomically", lying_disk)
    for step in (2, 3):
        with pytest.raises(CheckpointError, match="checksum differs"):
            save_checkpoint(tmp_path, step, content(9), {})
    assert list_steps(tmp_path) == [1, 2] and hidden(tmp_path) == []
    assert_is_step(load_latest(tmp_path)[0], 2)


# --- formats and forged manifests: sealed as they should be, yet not ours


def forge(path: Path, **changes: Any) -> None:
    """Rewrite the manifest with `changes`, correctly sealed."""
    body = json.loads((path / "manifest.json").read_bytes())
    del body["sha256"]
    (path / "manifest.json").write_bytes(manifests.sealed({**body, **changes}))


def test_a_newer_format_is_refused_not_passed_over_and_not_removed(tmp_path: Path) -> None:
    save(tmp_path, 1)
    forge(save(tmp_path, 2), format=2)
    with pytest.raises(CheckpointError, match=r"has format 2.*update endotransfer"):
        load_latest(tmp_path)
    save(tmp_path, 3)
    assert list_steps(tmp_path) == [2, 3]


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 0},
        {"format": "2"},
        {"step": -1},
        {"step": 1.0},
        {"extra": 1},
        {"files": {}},
        {"files": {"state.json": {"size": -1, "sha256": "", "group": None}}},
        {"files": {"../../state.json": {"size": 1, "sha256": "", "group": None}}},
    ],
)
def test_a_sealed_manifest_that_makes_no_sense_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = save(tmp_path, 2)
    forge(path, **changes)
    with pytest.raises(CheckpointError, match="not a whole manifest"):
        load_checkpoint(path)


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"{}", b"[" * 100_000, b"\xff", b'{"sha256": 1}'])
def test_a_manifest_of_other_json_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = save(tmp_path, 2)
    (path / "manifest.json").write_bytes(raw)
    with pytest.raises(CheckpointError, match="not a whole manifest"):
        load_checkpoint(path)


@pytest.mark.parametrize("name, group", [("../weights.safetensors", "weights"), ("weights.safetensors", "=%ff")])
def test_a_forged_file_name_never_leaves_the_folder(tmp_path: Path, name: str, group: str) -> None:
    path = save(tmp_path, 2)
    files = json.loads((path / "manifest.json").read_bytes())["files"]
    forge(
        path,
        files={"state.json": files["state.json"], name: {**files["weights.safetensors"], "group": group}},
    )
    with pytest.raises(CheckpointError, match="not a whole manifest"):
        load_checkpoint(path)


@pytest.mark.parametrize("raw", [b"", b"[" * 100_000, b"[1]", b"\xff"])
@pytest.mark.parametrize("name", ["state.json", "weights.safetensors"])
def test_forged_content_with_the_right_checksum_is_refused(tmp_path: Path, name: str, raw: bytes) -> None:
    path = save(tmp_path, 2)
    files = json.loads((path / "manifest.json").read_bytes())["files"]
    record = manifests.record_of(raw, files[name]["group"])
    (path / name).write_bytes(raw)
    forge(path, files={**files, name: record.model_dump()})
    with pytest.raises(CheckpointError, match=f"{name} "):
        load_checkpoint(path)
