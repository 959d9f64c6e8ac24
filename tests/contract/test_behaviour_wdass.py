"""WDASS draws pixels to prototypes, target features lead, and tags reach pixels through the target's prototypes."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, Batch, SegOutput
from endotransfer.losses.centroids import labels_at
from endotransfer.losses.lesion_odds import lesion_score
from endotransfer.losses.prototypes import prototype_contrast
from endotransfer.methods.task import Progress
from endotransfer.methods.wdass import Wdass
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

LATE = Progress(step=9, steps=10)
TAGGED_TERMS = {
    "segmentation_source", "classification_source", "classification_target", "segmentation_target", "contrast",
    "prototype_tags",
}  # fmt: skip


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    return one_batch(make_experiment, "wdass")


@pytest.fixture
def build(make_experiment: Any) -> Any:
    def make(progress: Progress = LATE, task: str = "tagged", **settings: Any) -> Wdass:
        method = build_method(make_experiment, "wdass", task, **settings)
        assert isinstance(method, Wdass)
        method.progress = progress
        return method

    return make


def with_lesions(method: Wdass, labels: Tensor) -> None:
    """Let the teacher's labels be these [B, H, W], whatever it sees."""
    logits = torch.stack([labels == NORMAL, labels == LESION], dim=1).float() * 20
    untouched = method.teacher.module

    class Certain(torch.nn.Module):
        def forward(self, images: Tensor, domain: str) -> SegOutput:
            output: SegOutput = untouched(images, domain=domain)
            return replace(output, logits=logits)

    method.teacher.module = Certain()


@torch.no_grad()
def distance_to_prototypes(method: Wdass, batch: FullBatch) -> float:
    """What InfoNCE is left between source pixels and the target's prototypes."""
    features = method.segmenter(batch.source.images).features[: len(batch.source.masks)]
    prototypes = method.target_prototypes
    masks = labels_at(batch.source.masks, features.shape[-2:])
    return prototype_contrast(prototypes.similarities(features, 0.1), masks, prototypes.seen).item()


def bright(batch: FullBatch) -> Tensor:
    """Labels of the target's images: the upper half of each is called lesion."""
    labels = torch.zeros_like(batch.target.images[:, 0], dtype=torch.long)
    labels[:, : labels.shape[1] // 2] = LESION
    return labels


def test_source_pixels_come_nearer_to_the_targets_prototypes(build: Any, batch: FullBatch) -> None:
    left = {}
    for weight in (1.0, 1e-12):
        method = build(contrast_weight=weight, tag_weight=0.0, fill_normal=False)
        with_lesions(method, bright(batch))
        train(method, batch, 20, "net", lr=3e-3)
        left[weight] = distance_to_prototypes(method, batch)
    assert left[1.0] < 0.5 * left[1e-12]


def test_target_pixels_are_not_drawn_to_the_sources_prototypes(build: Any, batch: FullBatch) -> None:
    """The alignment is asymmetric: with no source mask nothing of the source reaches the target's features."""
    method = build(tag_weight=0.0, fill_normal=False)
    with_lesions(method, bright(batch))
    memo: dict[str, Any] = {}
    method.losses("net", batch, memo)
    moved = method.source_prototypes.vectors.roll(1, 0)
    terms = []
    for vectors in (method.source_prototypes.vectors, moved):
        method.source_prototypes.momentum, method.source_prototypes.vectors = 1.0, vectors.clone()
        nothing = torch.full_like(batch.source.masks, IGNORE)
        terms.append(method.losses("net", Batch(replace(batch.source, masks=nothing), batch.target), memo)["contrast"])
    assert terms[0] > 0 and torch.equal(*terms)


def test_tags_bring_the_nearest_pixel_of_lesion_images_to_lesions_and_of_normal_ones_away(
    build: Any, batch: FullBatch
) -> None:
    """Labels say upper half; the tags say which images have a lesion at all."""
    tags = torch.tensor([LESION, NORMAL] * 2)
    tagged = FullBatch(batch.source, replace(batch.target, tags=tags))
    gaps = {}
    for weight in (1.0, 0.0):
        method = build(contrast_weight=1e-12, tag_weight=weight, fill_normal=False)
        with_lesions(method, bright(batch))
        train(method, tagged, 30, "net", lr=3e-3)
        with torch.no_grad():
            features = method.segmenter(tagged.target.images).features
        nearest = lesion_score(method.target_prototypes.similarities(features, 0.1)).flatten(1).amax(1)
        gaps[weight] = (nearest[tags == LESION].mean() - nearest[tags == NORMAL].mean()).item()
    assert gaps[1.0] > gaps[0.0] + 1


def test_confident_pixels_are_labelled_and_normal_images_everywhere(build: Any, batch: FullBatch) -> None:
    images = batch.target.images
    sure = torch.zeros(len(images), 2, *images.shape[-2:])
    sure[:, LESION, :8] = 3.0  # 95.3 %
    sure[:, LESION, 8:16] = 2.8  # 94.3 %
    sure[:, NORMAL, 16:24] = 9.0
    target = replace(batch.target, tags=torch.tensor([LESION, NORMAL] * 2))
    taught = SegOutput(sure, None, images)
    labels = build().labels_of(target, taught)
    assert (labels[0, :8] == LESION).all() and (labels[0, 8:16] == IGNORE).all() and (labels[0, 24:] == IGNORE).all()
    assert (labels[0, 16:24] == NORMAL).all() and (labels[1] == NORMAL).all()
    by_teacher = build(fill_normal=False).labels_of(target, taught)
    assert torch.equal(by_teacher[0], by_teacher[1]) and torch.equal(by_teacher[0], labels[0])


def test_the_targets_prototypes_are_made_of_the_teachers_features(build: Any, batch: FullBatch) -> None:
    method = build(fill_normal=False)
    with_lesions(method, bright(batch))
    for layer in method.segmenter.aspp.modules():
        if isinstance(layer, torch.nn.Conv2d):
            torch.nn.init.normal_(layer.weight)  # the student has left its teacher behind
    method.losses("net", batch, {})
    images = batch.target.images
    networks = (method.teacher, method.segmenter)
    taught, own = (network(images, domain="target").features.detach() for network in networks)
    before = method.target_prototypes.vectors.clone()
    method.target_prototypes.update(taught, labels_at(bright(batch), taught.shape[-2:]))
    torch.testing.assert_close(method.target_prototypes.vectors, before)
    method.target_prototypes.update(own, labels_at(bright(batch), own.shape[-2:]))
    assert not torch.allclose(method.target_prototypes.vectors, before, atol=1e-3)


def test_the_targets_terms_start_late_and_a_few_confident_pixels_count_little(build: Any, batch: FullBatch) -> None:
    early = build(Progress(step=9, steps=150), start=1 / 15).losses("net", batch, {})
    assert set(early) == {"segmentation_source", "classification_source", "classification_target"}
    assert set(build(Progress(step=10, steps=150), start=1 / 15).losses("net", batch, {})) == TAGGED_TERMS
    terms = []
    for rows in (32, 8):
        method = build(fill_normal=False)
        labels = torch.full_like(bright(batch), IGNORE)
        labels[:, :rows] = LESION
        with_lesions(method, labels)
        torch.nn.init.zeros_(method.segmenter.pixel_classifier.weight)
        torch.nn.init.zeros_(method.segmenter.pixel_classifier.bias)
        terms.append(method.losses("net", batch, {})["segmentation_target"].item())
    assert terms[1] == pytest.approx(terms[0] / 4, rel=1e-4)


def test_without_tags_there_is_no_tag_loss_and_a_switched_off_part_does_not_exist(
    build: Any, make_experiment: Any
) -> None:
    untagged = build(task="untagged")
    terms = untagged.losses("net", one_batch(make_experiment, "wdass", "untagged"), {})
    assert set(terms) == {"segmentation_source", "segmentation_target", "contrast"}
    assert len(untagged.target_prototypes.vectors) == 5
    assert not hasattr(build(task="untagged", contrast_weight=0.0), "target_prototypes")
    assert hasattr(build(contrast_weight=0.0), "target_prototypes")
    assert not hasattr(build(contrast_weight=0.0, tag_weight=0.0), "source_prototypes")


def test_the_teacher_follows_and_predicts(build: Any, batch: FullBatch) -> None:
    method = build()
    assert method.predictor() is method.teacher.module
    before = [value.clone() for value in method.teacher.parameters()]
    train(method, batch, 1, "net", lr=1e-2)
    assert all(torch.equal(*pair) for pair in zip(before, method.teacher.parameters(), strict=True))
    method.after_step()
    assert not all(torch.equal(*pair) for pair in zip(before, method.teacher.parameters(), strict=True))
