"""Models that go to a hub and come from one, over HTTP on loopback; what a stranger put there is not trusted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import endotransfer
from endotransfer.errors import CheckpointError
from endotransfer.predict.load import load
from endotransfer.pretrained.hub_download import check_files
from tests.hub_stand_in import Hub, hub_on_loopback
from tests.model_folders import write_model

USER = Path(__file__).with_name("hub_user.py")
HOSTILE = {"gone": b"", "code": b"\x80\x04cposix\nsystem\n"}


def act(home: Path, address: str, *steps: str) -> dict[str, object]:
    source = str(Path(endotransfer.__file__).parents[1])
    ours = {"HF_ENDPOINT": address, "HF_HOME": str(home / "cache"), "HF_TOKEN": "hf_nobody", "PYTHONPATH": source}
    command = [sys.executable, str(USER), *steps]
    done = subprocess.run(command, cwd=home, env=os.environ | ours, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers: dict[str, object] = json.loads((home / "answers.json").read_text())
    return answers


def put_others(hub: Hub) -> None:
    """A repository that is whole, and what a stranger might have made of it."""
    whole = hub.repositories["clinic/polyps"]
    hub.repositories["clinic/damaged"] = whole | {"weights.safetensors": whole["weights.safetensors"][:-1] + b"!"}
    hub.repositories["clinic/pickled"] = whole | {"weights.safetensors": HOSTILE["code"]}
    hub.repositories["clinic/other"] = {"pytorch_model.bin": HOSTILE["code"]}
    hub.repositories["clinic/extras"] = whole | {"run_me.py": b"raise SystemExit(9)", "pytorch_model.bin": b"x"}


def test_a_model_goes_to_a_hub_and_comes_back_and_a_strangers_is_refused(tmp_path: Path) -> None:
    model = write_model(tmp_path / "run" / "model")
    with hub_on_loopback() as hub:
        assert act(tmp_path, hub.address, f"push {tmp_path / 'run'} clinic/polyps")
        files = {"README.md", "config.json", "weights.safetensors", "familiarity.safetensors"}
        assert set(hub.repositories["clinic/polyps"]) == files
        put_others(hub)
        hub.asked.clear()
        names = ["polyps", "damaged", "pickled", "other", "extras", "absent"]
        found = act(tmp_path, hub.address, *(f"load hf://clinic/{name}" for name in names), "load clinic/polyps")
        asked = list(hub.asked)
    offline = act(tmp_path, hub.address, "load clinic/polyps", "load clinic/never")
    probabilities = load(model).predict(np.zeros((48, 64, 3), np.uint8)).probabilities
    for answer in (found["load hf://clinic/polyps"], found["load clinic/polyps"], found["load hf://clinic/extras"],
                   offline["load clinic/polyps"]):  # fmt: skip
        np.testing.assert_allclose(np.array(answer), probabilities, atol=2e-2)  # weights in half precision
    for name, words in {
        "damaged": "its checksum differs", "pickled": "its checksum differs", "other": "holds no config.json",
        "absent": "is not on the hub",
    }.items():  # fmt: skip
        answer = str(found[f"load hf://clinic/{name}"])
        assert answer.startswith("CheckpointError: ") and words in answer
    assert not [line for line in asked if "run_me" in line or ".bin" in line]  # never even fetched
    assert "cannot be fetched" in str(offline["load clinic/never"])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"config.json": 10}, "holds no weights.safetensors"),
        ({"config.json": 10, "weights.safetensors": 5 * 2**30}, "weights.safetensors has 5,369 MB"),
        ({"config.json": 2**30, "weights.safetensors": 10}, "config.json has 1,074 MB"),
        ({"config.json": 10, "weights.safetensors": None}, "does not say how large weights.safetensors is"),
    ],
)
def test_a_repository_is_refused_before_it_is_fetched(sizes: dict[str, int | None], words: str) -> None:
    with pytest.raises(CheckpointError, match=words):
        check_files("hf://a/b", sizes)
