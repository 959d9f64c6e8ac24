"""A model folder is loaded by its network's spec alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from endotransfer.engine.model_folder import load_model
from endotransfer.errors import CheckpointError
from tests.model_folders import rewrite_config, write_model

ALONE = """
import sys
from pathlib import Path
from endotransfer.engine.model_folder import load_model
load_model(Path(sys.argv[1]))
assert not [name for name in sys.modules if name.startswith("endotransfer.methods")]
"""


def test_no_method_is_imported_to_load_a_model(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", ALONE, write_model(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_model_says_what_made_it(tmp_path: Path) -> None:
    info = json.loads((write_model(tmp_path) / "config.json").read_text())
    assert info["method"] == {"name": "source_only", "preset": "default"}
    assert info["method_from"] == {"package": "endotransfer", "module": "endotransfer.methods.source_only"}
    assert info["network"]["kind"] == "segmenter" and info["network"]["package"] == "endotransfer"


def test_the_method_of_a_model_need_not_exist(tmp_path: Path) -> None:
    before = load_model(write_model(tmp_path))
    origin = {"package": "gone", "module": "gone.for.good"}
    rewrite_config(tmp_path, lambda info: {**info, "method": {"name": "gone"}, "method_from": origin})
    images = torch.rand(1, 3, 48, 64)
    assert torch.equal(before(images).logits, load_model(tmp_path)(images).logits)


def test_a_model_whose_network_is_not_installed_names_the_package(tmp_path: Path) -> None:
    network = {"kind": "theirs", "package": "their-package", "settings": {}}
    rewrite_config(write_model(tmp_path), lambda info: {**info, "network": network})
    with pytest.raises(CheckpointError, match=r"'theirs' comes from the package 'their-package'.*install it"):
        load_model(tmp_path)
