"""MIC does what it is for: the student sees a part of the image and learns what the teacher says of the whole."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from endotransfer.batch import LESION
from endotransfer.methods.mic import Mic
from endotransfer.methods.task import Progress
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    return one_batch(make_experiment, "mic")


@pytest.fixture
def build(make_experiment: Any) -> Any:
    return partial(build_method, make_experiment, "mic")


def masked(method: Mic, batch: FullBatch, step: int = 0) -> tuple[Tensor, Tensor]:
    """Images with hidden blocks, and which of their pixels have the colour of what is hidden."""
    method.progress = Progress(step)
    images = method.masked(method.labelled(batch.target), batch.target.keys).images
    return images, (images - method.segmenter.mean).abs().amax(1) < 1e-6


def test_blocks_are_hidden_and_the_rest_is_the_target(build: Any, batch: FullBatch) -> None:
    method = build(colour=0.0, blur=0.0)
    images, hidden = masked(method, batch)
    torch.testing.assert_close(images.where(~hidden[:, None], 0), batch.target.images.where(~hidden[:, None], 0))
    blocks = avg_pool2d(hidden.float(), 4)
    assert set(blocks.flatten().tolist()) == {0.0, 1.0}  # of 4 pixels, an eighth of 32, hidden or not as one
    shares = [masked(method, batch, step)[1].float().mean().item() for step in range(20)]
    assert sum(shares) / 20 == pytest.approx(0.7, abs=0.03)
    assert len({tuple(masked(method, batch, step)[1].flatten().tolist()) for step in range(4)}) == 4


def test_images_are_hidden_alike_whoever_shares_their_batch(build: Any, batch: FullBatch) -> None:
    """Two processes hide what one hides."""
    method = build()
    whole, _ = masked(method, batch)
    half = replace(batch, target=replace(batch.target, images=batch.target.images[2:], keys=batch.target.keys[2:]))
    torch.testing.assert_close(masked(method, half)[0], whole[2:])


def test_labels_and_weights_are_those_of_the_whole_image(build: Any, batch: FullBatch) -> None:
    method = build(threshold=0.5)
    labelled = method.labelled(batch.target)
    lesson = method.masked(labelled, batch.target.keys)
    assert torch.equal(lesson.labels, labelled.labels) and torch.equal(lesson.weights, labelled.weights)


def test_the_student_learns_to_see_what_is_hidden(build: Any, batch: FullBatch) -> None:
    """The teacher knows of lesion everywhere.  Without the term its student does not, where blocks are hidden."""
    chances = {}
    for weight in (5.0, NOTHING):
        method = build(masked_weight=weight, mixed_weight=NOTHING, threshold=0.0)
        with torch.no_grad():
            method.teacher.module.refinement.product.bias[LESION] += 20.0
        train(method, batch, 10, "net", lr=3e-3)
        images, _ = masked(method, batch, 99)
        with torch.no_grad():
            chances[weight] = method.segmenter.eval()(images).logits.softmax(1)[:, LESION].mean().item()
    assert chances[5.0] > chances[NOTHING] + 0.2


def test_its_term_stands_beside_those_of_dacs(build: Any, batch: FullBatch) -> None:
    terms = build().losses("net", batch, {})
    dacs = {"segmentation_source", "classification_source", "segmentation_mixed", "classification_target"}
    assert set(terms) == dacs | {"segmentation_masked"}
