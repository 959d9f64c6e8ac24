"""A promptable network is named as a folder, as one of its files, or as a repository of a hub."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import endotransfer
from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.predict.prompts.prompt_files import find_prompt_files, pair_in
from endotransfer.predict.prompts.prompt_model import PromptModel
from tests.hub_stand_in import hub_on_loopback
from tests.prompt_graphs import decoder, encoder

USER = Path(__file__).with_name("prompt_hub_user.py")
PAIRS = ["base_encoder.onnx", "base_decoder.onnx", "tiny.encoder.onnx", "tiny.decoder.onnx"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in PAIRS:
        (tmp_path / name).write_bytes(encoder() if "encoder" in name else decoder())
    return tmp_path


@pytest.mark.parametrize("named", PAIRS)
def test_one_file_names_its_pair(folder: Path, named: str) -> None:
    size = named[:4]
    names = [one for one in PAIRS if one.startswith(size)]
    found = find_prompt_files(folder / named)
    assert [found.encoder, found.decoder, found.name] == [folder / names[0], folder / names[1], size]
    model = PromptModel(str(folder / named), threads=1)
    assert model.name == size


def test_a_file_beside_the_only_other_part(tmp_path: Path) -> None:
    for name, content in (("image encoder.onnx", encoder()), ("mask_decoder.onnx", decoder())):
        (tmp_path / name).write_bytes(content)
    found = find_prompt_files(tmp_path / "mask_decoder.onnx")
    assert [found.encoder.name, found.decoder.name, found.name] == ["image encoder.onnx", "mask_decoder.onnx", "mask"]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("", r"holds 2 files called \*encoder\*.onnx where one is needed \(the name of one says which pair\)"),
        ("tiny.encoder.onnx", "holds no tiny.decoder.onnx, which goes with tiny.encoder.onnx"),
        ("notes.txt", r"notes.txt is not called \*encoder\*.onnx or \*decoder\*.onnx"),
        ("tiny/encoder.onnx/more", "there is no .*; name a folder"),
        ("hf://nothing", "'nothing' names no repository of a hub"),
    ],
)
def test_what_is_no_pair_is_one_sentence(folder: Path, named: str, words: str) -> None:
    (folder / "tiny.decoder.onnx").rename(folder / "large_decoder.onnx")
    (folder / "notes.txt").write_text("x")
    with pytest.raises((CheckpointError, ConfigError), match=words) as caught:
        find_prompt_files(named if named.startswith("hf:") else folder / named)
    assert "\n" not in str(caught.value)


def test_pairs_are_looked_for_in_sub_folders_of_a_repository() -> None:
    files = ["onnx/a_encoder.onnx", "onnx/a_decoder.onnx", "old/b_encoder.onnx", "old/b_decoder.onnx", "README.md"]
    assert pair_in("it", files, "old/b_decoder.onnx") == ("old/b_encoder.onnx", "old/b_decoder.onnx")
    assert pair_in("it", files[:2]) == ("onnx/a_encoder.onnx", "onnx/a_decoder.onnx")
    with pytest.raises(CheckpointError, match="is not called"):
        pair_in("it", files, "new/b_decoder.onnx")


def asked(home: Path, address: str, *names: str) -> dict[str, list[str]]:
    source = f"{Path(endotransfer.__file__).parents[1]}{os.pathsep}{Path(__file__).parents[3]}"
    ours = {"HF_ENDPOINT": address, "HF_HOME": str(home / "cache"), "HF_TOKEN": "hf_nobody", "PYTHONPATH": source}
    command = [sys.executable, str(USER), *names]
    done = subprocess.run(command, cwd=home, env=os.environ | ours, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers: dict[str, list[str]] = json.loads(done.stdout)
    return answers


def test_a_network_of_a_hub_answers_clicks_and_nothing_else_is_fetched(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    tiny = {"onnx/tiny_encoder.onnx": encoder(), "onnx/tiny_decoder.onnx": decoder()}
    with hub_on_loopback() as hub:
        hub.repositories |= {
            "lab/sam": tiny | {"run_me.py": b"raise SystemExit(9)", "weights.bin": b"x", "README.md": b"x"},
            "lab/two": tiny | {"base_encoder.onnx": encoder(), "base_decoder.onnx": decoder()},
            "lab/none": {"README.md": b"x"},
            "lab/large": dict(tiny),
        }
        files = ("hf://lab/two/base_decoder.onnx", "hf://lab/two/onnx/tiny_encoder.onnx")
        found = asked(tmp_path, hub.address, "hf://lab/sam", "lab/sam", *files, "hf://lab/two", "hf://lab/none")
        requests = list(hub.asked)
        hub.told_sizes["onnx/tiny_encoder.onnx"] = 2**31 + 1
        large = asked(tmp_path, hub.address, "hf://lab/large")["hf://lab/large"]
    offline = asked(tmp_path, hub.address, "hf://lab/sam", "hf://lab/never")
    for answer in (found["hf://lab/sam"], found["lab/sam"], offline["hf://lab/sam"]):
        assert answer == ["lab/sam", "tiny_encoder.onnx", "tiny_decoder.onnx", "bright"]
    assert found[files[0]][1:3] == ["base_encoder.onnx", "base_decoder.onnx"]
    assert found[files[1]][1:3] == ["tiny_encoder.onnx", "tiny_decoder.onnx"]
    assert "holds 2 files called *encoder*.onnx" in found["hf://lab/two"][0]
    assert "holds no files called *encoder*.onnx" in found["hf://lab/none"][0]
    assert "none of its kind has" in large[0]
    assert "cannot be fetched" in offline["hf://lab/never"][0]
    assert not [line for line in requests if "run_me" in line or ".bin" in line]
