"""DAFormer's training does what it is for: rare classes are shown most, features stay near ImageNet's, a slow start."""

import csv
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from endotransfer.batch import LESION
from endotransfer.config import RawConfig, experiment_from
from endotransfer.engine import run as engine
from endotransfer.engine.experiment_data import load_data
from endotransfer.engine.training_data import load_training_data
from endotransfer.methods.daformer import UNTAUGHT, Daformer
from endotransfer.models.segmenters.open_segmenter import OpenSegmenter
from endotransfer.testing.repeated_run import differing
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    first = one_batch(make_experiment, "daformer")
    masks = torch.zeros(4, 32, 32, dtype=torch.int64)
    masks[:, 8:24, 8:24] = LESION
    return replace(first, source=replace(first.source, masks=masks))


@pytest.fixture
def build(make_experiment: Any) -> Any:
    return partial(build_method, make_experiment, "daformer")


# -- features ---------------------------------------------------------------------------------------------------------


def drift(method: Daformer, batch: FullBatch) -> float:
    """How far the features of the lesion's cells have gone."""
    with torch.no_grad():
        now, before = method.segmenter.eval()(batch.source.images).aux["backbone"], method.imagenet(batch.source.images)
    return float((now - before)[:, :, 1:3, 1:3].norm(dim=1).mean())


def test_features_of_lesions_stay_near_those_of_the_pretrained_backbone(build: Any, batch: FullBatch) -> None:
    drifts = {}
    for weight in (1.0, NOTHING):
        method = build(distance_weight=weight)
        assert drift(method, batch) == 0
        train(method, batch, 10, "net")
        drifts[weight] = drift(method, batch)
    assert drifts[1.0] < 0.5 * drifts[NOTHING]


def test_the_distance_is_that_of_lesion_cells_alone(build: Any, batch: FullBatch) -> None:
    method = build(distance_weight=2.0)
    with torch.no_grad():
        for parameter in method.segmenter.backbone.parameters():
            parameter *= 1.1
    term = method.losses("net", batch, {})["feature_distance"].item()
    assert term == pytest.approx(2 * drift(method, batch), rel=1e-5) and term > 0
    normal = replace(batch, source=replace(batch.source, masks=torch.zeros_like(batch.source.masks)))
    assert method.losses("net", normal, {})["feature_distance"].item() == 0
    things = build(distance_weight=2.0, things=(0,))
    things.load_state_dict(method.state_dict())
    assert things.losses("net", normal, {})["feature_distance"].item() > 0


def test_without_pretrained_weights_there_is_no_distance_and_a_remark(make_experiment: Any, build: Any) -> None:
    taught, untaught = build(), build_method(make_experiment, "daformer", "untagged")
    assert hasattr(taught, "imagenet") and isinstance(taught.segmenter, OpenSegmenter) and taught.findings() == {}
    assert not hasattr(untaught, "imagenet") and not isinstance(untaught.segmenter, OpenSegmenter)
    assert untaught.findings() == {"remarks": [UNTAUGHT]}
    terms = untaught.losses("net", one_batch(make_experiment, "daformer", "untagged"), {})
    assert set(terms) == {"segmentation_source", "segmentation_mixed"}
    switched_off = build(distance_weight=0.0)
    assert not hasattr(switched_off, "imagenet") and switched_off.findings() == {}


# -- rare classes and the slow start ----------------------------------------------------------------------------------


def lesion_images(make_experiment: Any, method: Daformer) -> float:
    """The share of masked source images that show a lesion, over some batches."""
    experiment = make_experiment("tagged", "daformer")
    sets = load_data(experiment.data, method.needs)
    data = load_training_data(experiment, sets, method.needs, lambda *_: None, console=Console(quiet=True))
    batches = data.batch_source.batches(0, 10, pass_epoch=None)
    shown = [bool((mask == LESION).any()) for batch in batches if batch.source for mask in batch.source.masks]
    return sum(shown) / len(shown)


def test_images_of_the_rare_class_are_drawn_as_the_temperature_says(make_experiment: Any, build: Any) -> None:
    cold, warm, none = (lesion_images(make_experiment, build(temperature=value)) for value in (0.01, 100.0, None))
    assert cold == 1
    assert none < warm < 1  # one half, and those that come up for the common class


def rates(run: Path) -> list[float]:
    with (run / "metrics.csv").open(newline="") as file:
        return [float(row["value"]) for row in csv.DictReader(file) if row["name"] == "lr/net"]


def test_a_run_draws_rare_classes_and_its_learning_rate_rises(make_experiment: Any, tmp_path: Path) -> None:
    """Nine steps, a third of them warm-up; the engine asks the method as it was set, not its class."""
    changes: dict[str, RawConfig] = {"slow": {}, "quick": {"warmup": 0.0}, "plain": {"temperature": None}}
    for name, settings in changes.items():
        made = make_experiment("tagged", "daformer", schedule="constant").model_dump(mode="json")
        made["method"] |= {"warmup": 1 / 3, **settings}
        engine.train(experiment_from(made), tmp_path / name)
    assert rates(tmp_path / "slow") == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3] + [1e-3] * 6)
    assert rates(tmp_path / "quick") == pytest.approx([1e-3] * 9)
    assert differing(tmp_path / "slow", tmp_path / "plain")  # only the order of images is another
