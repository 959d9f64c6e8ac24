"""Target images tagged normal as complete masks: every method learns from them, and only where it is asked to."""

from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.batch import NORMAL
from endotransfer.config import experiment_from
from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.experiment_data import load_data
from endotransfer.errors import ConfigError, DataError
from endotransfer.methods import METHODS

ALWAYS = ("semantic_transfer", "source_only")  # the term is the engine's own: others are left to the extended run
METHOD_NAMES = [
    pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.extended)
    for name, method in METHODS.items()
    if not method.needs.masks_of_target and method.phases  # without phases no network is trained
]
SHORT = {"epochs": 2, "steps_per_epoch": 1}
BASELINE = METHODS.get("source_only").needs


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_every_method_learns_from_them(make_experiment: Any, tmp_path: Path, name: str) -> None:
    engine.train(make_experiment("tagged", name, batch_normals=2, **SHORT), tmp_path / "run")
    terms = {line.split(",")[3] for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()}
    assert "term/normals" in terms


def test_they_are_training_images_of_the_target_tagged_normal_and_no_mask_is_opened(make_experiment: Any) -> None:
    data = load_data(make_experiment("tagged", "source_only").data, BASELINE, normals=True)
    test = {sample.key for sample in data.test}
    assert data.normals and all(sample.tag == NORMAL and sample.key not in test for sample in data.normals)
    assert data.target == []  # the baseline itself still sees no other target image


def test_they_change_what_is_learnt(make_experiment: Any, tmp_path: Path) -> None:
    for count in (0, 2):
        engine.train(make_experiment("tagged", "source_only", batch_normals=count, **SHORT), tmp_path / str(count))
    without, having = (weights(tmp_path / str(count)) for count in (0, 2))
    assert not all(torch.equal(without[key], having[key]) for key in without)


def test_their_term_is_the_cross_entropy_of_normal_everywhere(make_experiment: Any, tmp_path: Path) -> None:
    longer = {"epochs": 1, "steps_per_epoch": 20, "log_every": 1, "lr": 0.01, "batch_normals": 2}
    engine.train(make_experiment("tagged", "source_only", **longer), tmp_path / "run")
    rows = [line.split(",") for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()]
    values = [float(row[4]) for row in rows if row[3] == "term/normals"]
    assert len(values) == 20 and 0 < sum(values[-5:]) < sum(values[:5])


def test_a_target_without_a_normal_image_is_refused(make_experiment: Any) -> None:
    data = make_experiment("tagged", "source_only").data
    only_lesions = tuple(folder.model_copy(update={"where": {"label": "lesion"}}) for folder in data.target)
    with pytest.raises(DataError, match="target training images tagged normal and there are none"):
        load_data(data.model_copy(update={"target": only_lesions}), BASELINE, normals=True)


def test_without_tags_it_is_a_contradiction() -> None:
    raw = {"data": {"source": "a", "target": "b", "tags": False}, "training": {"batch_normals": 4}}
    with pytest.raises(ConfigError, match="batch_normals needs the target's tags"):
        experiment_from(raw, "experiment")
