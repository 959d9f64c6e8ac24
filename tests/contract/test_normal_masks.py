"""Target images tagged normal as complete masks: every method learns from them, and only where it is asked to."""

from pathlib import Path
from typing import Any

import pytest
import torch

from endotransfer.batch import NORMAL
from endotransfer.config import Experiment, experiment_from
from endotransfer.engine import run as engine
from endotransfer.engine.checkpoint import load_latest
from endotransfer.engine.experiment_data import load_data
from endotransfer.errors import ConfigError, DataError
from endotransfer.methods import METHODS

ALWAYS = ("semantic_transfer", "source_only")  # the term is the engine's own: others are left to the extended run
METHOD_NAMES = [
    pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.extended)
    for name, method in METHODS.items()
    if not method.needs.masks_of_target
]
SHORT = {"epochs": 2, "steps_per_epoch": 1, "batch_normals": 2}


def using(experiment: Experiment, **changes: object) -> Experiment:
    return experiment.model_copy(update={"data": experiment.data.model_copy(update={"normal_masks": True, **changes})})


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_latest(run / "checkpoints")[0].tensors["weights"]


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_every_method_learns_from_them(make_experiment: Any, tmp_path: Path, name: str) -> None:
    engine.train(using(make_experiment("tagged", name, **SHORT)), tmp_path / "run")
    terms = {line.split(",")[3] for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()}
    assert "term/normals" in terms


def test_they_are_training_images_of_the_target_tagged_normal_and_no_mask_is_opened(make_experiment: Any) -> None:
    experiment = using(make_experiment("tagged", "source_only"))
    data = load_data(experiment.data, METHODS.get("source_only").needs)
    test = {sample.key for sample in data.test}
    assert data.normals and all(sample.tag == NORMAL and sample.key not in test for sample in data.normals)
    assert data.target == []  # the baseline itself still sees no other target image


def test_they_change_what_is_learnt_and_leaving_them_out_changes_nothing(make_experiment: Any, tmp_path: Path) -> None:
    plain = make_experiment("tagged", "source_only", **SHORT)
    other = make_experiment("tagged", "source_only", **{**SHORT, "batch_normals": 3})
    for experiment, name in ((plain, "plain"), (other, "other"), (using(plain), "using")):
        engine.train(experiment, tmp_path / name)
    one, two, three = (weights(tmp_path / name) for name in ("plain", "other", "using"))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert not all(torch.equal(one[key], three[key]) for key in one)


def test_their_term_is_the_cross_entropy_of_normal_everywhere(make_experiment: Any, tmp_path: Path) -> None:
    longer = {**SHORT, "epochs": 1, "steps_per_epoch": 20, "log_every": 1, "lr": 0.01}
    engine.train(using(make_experiment("tagged", "source_only", **longer)), tmp_path / "run")
    rows = [line.split(",") for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()]
    values = [float(row[4]) for row in rows if row[3] == "term/normals"]
    assert len(values) == 20 and 0 < sum(values[-5:]) < sum(values[:5])


def test_a_target_without_a_normal_image_is_refused(make_experiment: Any, tasks: dict[str, Path]) -> None:
    experiment = make_experiment("tagged", "source_only")
    only_lesions = [folder.model_copy(update={"where": {"label": "lesion"}}) for folder in experiment.data.target]
    with pytest.raises(DataError, match="no target training image is tagged normal"):
        load_data(using(experiment, target=tuple(only_lesions)).data, METHODS.get("source_only").needs)


def test_without_tags_it_is_a_contradiction() -> None:
    with pytest.raises(ConfigError, match="normal_masks needs the target's tags"):
        experiment_from({"data": {"source": "a", "target": "b", "tags": False, "normal_masks": True}}, "experiment")
