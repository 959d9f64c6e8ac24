"""What was fitted, through its file and back; any damage is one sentence."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from numpy.typing import NDArray

from endotransfer.errors import CheckpointError
from endotransfer.familiarity.familiarity_file import FILE, FamiliarityInfo, encode_familiarity, read_familiarity
from tests.familiarity.pictures import cloud, features_of, fitted

Tensors = dict[str, NDArray[np.generic]]


@pytest.mark.parametrize("features", [True, False])
def test_what_is_read_is_what_was_fitted(tmp_path: Path, features: bool) -> None:
    usual = fitted(features=features)
    content, info = encode_familiarity(usual)
    (tmp_path / FILE).write_bytes(content)
    again = read_familiarity(tmp_path, info, "copy it")
    for seed in range(5):
        picture = cloud(np.random.default_rng(seed))
        seen = features_of(picture) if features else None
        assert again.assess(picture, seen).score == pytest.approx(usual.assess(picture, seen).score, rel=1e-4)


def test_the_file_stays_small_for_wide_networks() -> None:
    """As many directions as images, not width squared."""
    usual = fitted(40)
    assert len(encode_familiarity(usual)[0]) < 4 * (40 + 3) * 13 * 3


CHANGES: dict[str, Callable[[Tensors], object]] = {
    "'features.mean'": lambda tensors: tensors.pop("features.mean"),
    "instead of 9": lambda tensors: tensors.update(more=np.zeros(1, np.float32)),
    "not finite": lambda tensors: tensors["signs.mean"].fill(np.nan),
    "not positive": lambda tensors: tensors["features.variances"].fill(0),
    "'signs.scale' is not positive": lambda tensors: tensors["signs.scale"].fill(-1),
    "of the kind float64": lambda tensors: tensors.update({"signs.mean": tensors["signs.mean"].astype(float)}),
    "has the shape": lambda tensors: tensors.update({"signs.axes": tensors["signs.axes"][:, :5].copy()}),
    "directions of": lambda tensors: tensors.update({"signs.variances": np.ones(99, np.float32)}),
}


@pytest.mark.parametrize("said", CHANGES)
def test_a_file_that_was_changed_and_sealed_again_is_refused(tmp_path: Path, said: str) -> None:
    content, info = encode_familiarity(fitted())
    tensors = {name: value.copy() for name, value in safetensors.numpy.load(content).items()}
    CHANGES[said](tensors)
    changed = safetensors.numpy.save(tensors)
    (tmp_path / FILE).write_bytes(changed)
    resealed = info.model_copy(update={"sha256": hashlib.sha256(changed).hexdigest()})
    with pytest.raises(CheckpointError, match=rf"{FILE} is damaged \(.*{said}.*\); copy it\."):
        read_familiarity(tmp_path, resealed, "copy it")


def test_a_flipped_bit_and_a_missing_file_are_told(tmp_path: Path) -> None:
    content, info = encode_familiarity(fitted())
    with pytest.raises(CheckpointError, match=rf"there is no .*{FILE}; copy it\."):
        read_familiarity(tmp_path, info, "copy it")
    (tmp_path / FILE).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match="its checksum differs"):
        read_familiarity(tmp_path, info, "copy it")


def test_signs_of_another_version_are_told(tmp_path: Path) -> None:
    content, info = encode_familiarity(fitted())
    (tmp_path / FILE).write_bytes(content)
    other: FamiliarityInfo = info.model_copy(update={"signs": ["smell"]})
    with pytest.raises(CheckpointError, match="other things of pictures"):
        read_familiarity(tmp_path, other, "copy it")
