"""DACS does what it is for: mixtures show what their labels say, and labels teach as far as the teacher is sure."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, SegOutput, TargetBatch
from endotransfer.methods.dacs import Dacs
from endotransfer.methods.task import Progress
from endotransfer.pseudo_labels.mixed_lesson import Lesson
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

SQUARE = (slice(None), slice(8, 24), slice(8, 24))


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """Source images that all show both classes: a square of lesion in the middle."""
    first = one_batch(make_experiment, "dacs")
    masks = torch.zeros(4, 32, 32, dtype=torch.int64)
    masks[SQUARE] = LESION
    return replace(first, source=replace(first.source, masks=masks))


@pytest.fixture
def build(make_experiment: Any) -> Any:
    return partial(build_method, make_experiment, "dacs")


def says(method: Dacs, lesion: Tensor) -> Dacs:
    """A teacher that gives every image the lesion probabilities [H, W]."""

    def predict(images: Tensor) -> SegOutput:
        log_odds = torch.logit(lesion).expand(len(images), *lesion.shape)
        return SegOutput(torch.stack([-log_odds / 2, log_odds / 2], 1), None, images)

    method.predict_target = predict  # type: ignore[method-assign]
    return method


def sure_of_a_corner(share: float) -> Tensor:
    """Lesion in the rows above `share` of the image, by 0.99; below, nobody knows."""
    lesion = torch.full((32, 32), 0.51)
    lesion[: round(32 * share)] = 0.99
    return lesion


# -- mixtures ---------------------------------------------------------------------------------------------------------


def test_a_mixture_is_source_where_a_class_is_pasted_and_target_elsewhere(build: Any, batch: FullBatch) -> None:
    method = says(build(colour=0.0, blur=0.0), sure_of_a_corner(0.25))
    labelled = method.labelled(batch.target)
    lesions = 0
    for step in range(8):
        method.progress = Progress(step)
        mixed = method.mixed(batch.source, labelled, batch.target.keys)
        for image, source, target, labels, weights, mask in zip(
            mixed.images, batch.source.images, batch.target.images, mixed.labels, mixed.weights, batch.source.masks,
            strict=True,
        ):  # fmt: skip
            pasted = mask == (LESION if weights[16, 16] == 1 else NORMAL)
            lesions += int(pasted[16, 16])
            torch.testing.assert_close(image, torch.where(pasted, source, target), rtol=0, atol=1e-6)
            assert torch.equal(labels, torch.where(pasted, mask, labelled.labels[0]))
            assert torch.equal(weights, torch.where(pasted, 1.0, 0.25))
    assert 6 <= lesions <= 26  # of 32, by the toss of a coin


def test_a_source_image_without_lesion_leaves_the_target_as_it_is(build: Any, batch: FullBatch) -> None:
    method = says(build(colour=0.0, blur=0.0), sure_of_a_corner(0.5))
    normal = replace(batch.source, masks=torch.zeros_like(batch.source.masks))
    mixed = method.mixed(normal, method.labelled(batch.target), batch.target.keys)
    torch.testing.assert_close(mixed.images, batch.target.images, rtol=0, atol=1e-6)
    assert (mixed.weights == 0.5).all()


def test_only_mixtures_are_strongly_augmented_and_each_in_its_own_way(build: Any, batch: FullBatch) -> None:
    plain, strong = (
        says(build(colour=colour, blur=blur), sure_of_a_corner(0.5)) for colour, blur in ((0.0, 0.0), (0.25, 0.5))
    )
    twice = replace(batch.target, images=batch.target.images[:1].expand(4, -1, -1, -1))
    normal = replace(batch.source, masks=torch.zeros_like(batch.source.masks))  # nothing is pasted
    one, other = (each.mixed(normal, each.labelled(twice), batch.target.keys) for each in (plain, strong))
    assert torch.equal(one.labels, other.labels)
    assert (one.images - other.images).abs().mean() > 0.02
    assert (other.images[0] - other.images[1]).abs().mean() > 0.01
    again = strong.mixed(normal, strong.labelled(twice), batch.target.keys)
    assert torch.equal(again.images, other.images)  # a resumed run draws the same


# -- what tags say of pixels ------------------------------------------------------------------------------------------


def labelled_by_tag(build: Any, batch: FullBatch, *, fill_normal: bool) -> tuple[Dacs, Lesson, TargetBatch]:
    target = replace(batch.target, tags=torch.tensor([NORMAL, LESION, -1, NORMAL]))
    method = says(build(fill_normal=fill_normal), sure_of_a_corner(0.25))
    return method, method.labelled(target), target


def test_with_tags_an_image_tagged_normal_is_known_everywhere(build: Any, batch: FullBatch) -> None:
    _, teachers, _ = labelled_by_tag(build, batch, fill_normal=False)
    method, known, target = labelled_by_tag(build, batch, fill_normal=True)
    tagged = target.tags == NORMAL
    assert (known.labels[tagged] == NORMAL).all() and (known.weights[tagged] == 1).all()
    assert torch.equal(known.labels[~tagged], teachers.labels[~tagged])
    assert torch.equal(known.weights[~tagged], teachers.weights[~tagged])
    assert (teachers.labels == LESION).any((1, 2)).all() and (teachers.weights == 0.25).all()
    mixed = method.mixed(batch.source, known, target.keys)
    assert (mixed.weights[tagged] == 1).all()
    outside = batch.source.masks[tagged] == NORMAL
    assert (mixed.labels[tagged][outside] == NORMAL).all()


# -- learning ---------------------------------------------------------------------------------------------------------


def lesion_chance(method: Dacs, images: Tensor) -> float:
    with torch.no_grad():
        return float(method.segmenter.eval()(images).logits.softmax(1)[:, LESION].mean())


def test_labels_teach_as_far_as_the_teacher_is_sure(build: Any, batch: FullBatch) -> None:
    """It calls all of the target lesion; the source says normal everywhere, so nothing is pasted."""
    normal = replace(batch, source=replace(batch.source, masks=torch.zeros_like(batch.source.masks)))
    chances = {}
    for share in (1.0, 0.0):
        method = says(build(), sure_of_a_corner(share))
        train(method, normal, 12, "net", lr=3e-3)
        chances[share] = lesion_chance(method, batch.target.images)
    assert chances[1.0] > chances[0.0] + 0.15


def test_terms_are_the_recipes(build: Any, batch: FullBatch) -> None:
    """A network that says one half everywhere: every pixel costs log 2 by its weight."""
    method = says(build(mixed_weight=0.5), sure_of_a_corner(0.25))
    refinement = method.segmenter.refinement
    assert refinement is not None
    for parameter in (*method.segmenter.pixel_classifier.parameters(), refinement.product.weight):
        torch.nn.init.zeros_(parameter)
    terms = method.losses("net", batch, {})
    assert set(terms) == {
        "segmentation_source", "classification_source", "segmentation_mixed", "classification_target",
    }  # fmt: skip
    mean_weight = method.mixed(batch.source, method.labelled(batch.target), batch.target.keys).weights.mean().item()
    assert 0.25 < mean_weight < 1
    expected = 0.5 * mean_weight * torch.tensor(2.0).log().item()
    assert terms["segmentation_mixed"].item() == pytest.approx(expected, rel=1e-5)


def test_s1_learns_the_tags_of_whole_target_images(build: Any, batch: FullBatch) -> None:
    method = build()
    tagged = replace(batch, target=replace(batch.target, tags=torch.tensor([0, 1, 0, 1])))
    with torch.no_grad():
        term = method.losses("net", tagged, {})["classification_target"]
        output = method.segmenter(batch.target.images)
    expected = torch.nn.functional.cross_entropy(output.tag_logits, torch.tensor([0, 1, 0, 1]))
    assert term.item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_teacher_follows_and_predicts(build: Any, batch: FullBatch) -> None:
    method = build(teacher_momentum=0.5)
    before = method.teacher.module.pixel_classifier.weight.clone()
    with torch.no_grad():
        method.segmenter.pixel_classifier.weight += 1.0
    method.progress = Progress(10)
    method.after_step()
    assert method.predictor() is method.teacher.module
    torch.testing.assert_close(method.predictor().pixel_classifier.weight, before + 0.5)


@pytest.mark.parametrize("masks", [1, 2])
def test_few_masks_serve_all_target_images(build: Any, batch: FullBatch, masks: int) -> None:
    """Source images beyond the first carry tags alone."""
    few = replace(batch, source=replace(batch.source, masks=batch.source.masks[:masks]))
    terms = build().losses("net", few, {})
    assert torch.stack(list(terms.values())).isfinite().all()


def test_without_tags_and_with_five_classes_whole_target_images_are_not_shown(make_experiment: Any) -> None:
    batch = one_batch(make_experiment, "dacs", "untagged")
    method = build_method(make_experiment, "dacs", "untagged")
    seen = []
    method.segmenter.register_forward_hook(lambda module, inputs, output: seen.append(len(inputs[0])))
    assert set(method.losses("net", batch, {})) == {"segmentation_source", "segmentation_mixed"}
    assert seen == [8]
