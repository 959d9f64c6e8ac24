"""CRST is CBST that is not rewarded for being certain of its labels."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from endotransfer.batch import IGNORE
from endotransfer.methods.crst import CRST
from tests.contract.behaviour import FullBatch, build, one_batch, train


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """Target labels, some of them wrong: everything is normal, and a stripe has no label."""
    batch = one_batch(make_experiment, "crst")
    stored = torch.zeros_like(batch.target.images[:, 0]).long()
    stored[:, :, :8] = IGNORE
    return FullBatch(batch.source, replace(batch.target, stored=stored))


def test_predictions_on_labels_are_less_sure_with_the_regulariser_than_without(
    make_experiment: Any, batch: FullBatch
) -> None:
    sureness = {}
    for weight in (0.0, 1.0):  # the paper's 0.1 takes more steps to show
        method = build(make_experiment, "crst", uniform_weight=weight)
        train(method, batch, 15, "net", lr=3e-3)
        with torch.no_grad():
            logits = method.predict_target(batch.target.images).at(batch.target.images.shape[-2:])
        sureness[weight] = logits.softmax(1).amax(1)[:, :, 8:].mean().item()
    assert sureness[1.0] < sureness[0.0] - 0.02


def test_without_a_weight_it_is_cbst(make_experiment: Any, batch: FullBatch) -> None:
    one, other = build(make_experiment, "crst", uniform_weight=0), build(make_experiment, "cbst")
    terms, expected = (method.losses("net", batch, {}) for method in (one, other))
    assert {name: value.item() for name, value in terms.items()} == {name: v.item() for name, v in expected.items()}
    with_it = build(make_experiment, "crst").losses("net", batch, {})
    assert with_it.keys() - expected.keys() == {"uniform_target"}


def test_the_source_is_not_regularised(make_experiment: Any, batch: FullBatch) -> None:
    method = build(make_experiment, "crst")
    assert isinstance(method, CRST)
    unlabelled = FullBatch(
        batch.source, replace(batch.target, stored=torch.full_like(batch.target.images[:, 0], IGNORE))
    )
    assert method.losses("net", unlabelled, {})["uniform_target"].item() == 0
