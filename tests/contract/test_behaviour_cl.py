"""CL does what it is for: predictions come to cover what the regression says, and sure super-pixels teach."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, PassBatch, SourceBatch
from endotransfer.config import ModelConfig
from endotransfer.data.phantom import render
from endotransfer.losses.label_distribution import label_distributions, sharpened_log_distribution
from endotransfer.methods.cl import CL, CLConfig
from endotransfer.methods.task import TaskInfo
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    return one_batch(make_experiment, "cl")


@pytest.fixture
def build(make_experiment: Any) -> Any:
    return partial(build_method, make_experiment, "cl")


class Target:
    """A target set of few images that remembers what is stored."""

    def __init__(self, images: Tensor, regions: Tensor | None = None) -> None:
        self.images, self.regions = images, regions
        self.stored: dict[str, Tensor] = {}

    def __iter__(self) -> Any:
        for first in range(0, len(self.images), 3):
            part = self.images[first : first + 3]
            yield PassBatch(part, None, [str(first + i) for i in range(len(part))])

    def superpixels(self, keys: list[str]) -> Tensor:
        assert self.regions is not None
        return self.regions[[int(key) for key in keys]]

    def store(self, keys: list[str], maps: Tensor) -> None:
        self.stored |= dict(zip(keys, maps, strict=True))


# -- the label distribution -------------------------------------------------------------------------------------------


def gap(method: CL, batch: FullBatch, wanted: Tensor) -> float:
    with torch.no_grad():
        found = sharpened_log_distribution(method.segmenter(batch.target.images).logits).exp()
    return (found - wanted).abs().sum(1).mean().item()


def test_predictions_come_to_cover_what_is_expected(build: Any, batch: FullBatch) -> None:
    wanted = torch.tensor([0.3, 0.7])
    gaps = {}
    for weight in (1.0, NOTHING):
        method = build(distribution_weight=weight)
        method.regression.offsets[:] = wanted
        untagged = replace(batch, target=replace(batch.target, tags=None))
        train(method, untagged, 15, "net")
        gaps[weight] = gap(method, batch, wanted)
    assert gaps[1.0] < 0.25 * gaps[NOTHING]


def test_tags_say_what_is_expected(build: Any, batch: FullBatch) -> None:
    method = build()
    method.regression.offsets[1] = torch.tensor([0.6, 0.4])
    tags = torch.tensor([NORMAL, LESION, -1, NORMAL])
    found = method.expected(replace(batch.target, tags=tags))
    torch.testing.assert_close(found, torch.tensor([[1, 0], [0.6, 0.4], [0.5, 0.5], [1, 0]]))


def phantom(domain: str, variant: str, images: int, size: int) -> tuple[Tensor, Tensor]:
    """Images [N, 3, H, W] and masks [N, H, W]."""
    drawn = [render(domain, index, 1, size, variant) for index in range(images)]
    pictures = torch.stack([torch.from_numpy(one.image).permute(2, 0, 1) for one in drawn]) / 255
    return pictures, torch.stack([torch.from_numpy(one.mask) for one in drawn]).long()


def error_against_constant(method: CL, source: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor]) -> float:
    """The regression's mean error on target distributions, as a share of the constant source mean's."""
    classes = method.task.classes
    batches = [
        SourceBatch(images, masks, None) for images, masks in zip(*(torch.split(p, 4) for p in source), strict=True)
    ]
    method.prepare(batches, Target(target[0]))  # type: ignore[arg-type]
    truth = label_distributions(target[1], classes)
    found = method.regression(method.descriptor(target[0]))
    constant = label_distributions(source[1], classes).mean(0)
    errors = [(guess - truth).abs().sum(1).mean().item() for guess in (found, constant)]
    return errors[0] / errors[1]


def test_the_regression_knows_target_images_better_than_the_sources_mean_does(real_weights: Any) -> None:
    """On the phantom, with the features of an ImageNet network."""
    model = ModelConfig(
        backbone="mobilenetv2_100", weights=real_weights("mobilenet_v2-imagenet-backbone-fp16.safetensors"),
        norm="frozen", multi_grid=None, aspp_rates=(1,), aspp_channels=8,
    )  # fmt: skip
    torch.manual_seed(0)
    method = CL(TaskInfo(2, True, model, 1), CLConfig.model_validate({}))
    share = error_against_constant(
        method, *(phantom(domain, "lesion", 40, 64) for domain in ("gastroscopy", "capsule"))
    )
    assert share < 0.9


def test_the_regression_sees_through_a_change_of_colour(build: Any) -> None:
    """Bright squares on a dark ground, red in one domain and green in the other: the features of any network do."""
    generator = torch.Generator().manual_seed(0)

    def domain(colour: list[float]) -> tuple[Tensor, Tensor]:
        sides = torch.randint(0, 30, (60,), generator=generator)
        at = torch.arange(32)
        masks = ((at < sides[:, None])[:, :, None] & (at < sides[:, None])[:, None]).long()
        light = 0.2 + 0.6 * masks[:, None] + 0.05 * torch.rand(60, 1, 32, 32, generator=generator)
        return light * torch.tensor(colour).view(3, 1, 1), masks

    share = error_against_constant(build(ridge=0.1), domain([1.0, 0.5, 0.5]), domain([0.5, 1.0, 0.4]))
    assert share < 0.5


# -- landmarks --------------------------------------------------------------------------------------------------------


def test_a_pass_labels_the_surest_super_pixels_of_every_image(build: Any, batch: FullBatch) -> None:
    method = build(landmark_share=0.5).eval()
    regions = torch.arange(64).view(8, 8).repeat_interleave(4, 0).repeat_interleave(4, 1).expand(4, 32, 32)
    target = Target(batch.target.images, regions)
    with torch.no_grad():
        figures = method.target_pass(target)
        predicted = method.segmenter(batch.target.images).at((32, 32))
    assert set(target.stored) == {"0", "1", "2", "3"}
    for key, labels in target.stored.items():
        assert (labels != IGNORE).float().mean() == 0.5
        votes = predicted[int(key)].softmax(0).unflatten(1, (8, 4)).unflatten(3, (8, 4)).mean((2, 4)).argmax(0)
        labels = labels[::4, ::4]
        assert torch.equal(labels[labels != IGNORE].long(), votes[labels != IGNORE])
    assert sum(figures.values()) == pytest.approx(0.5)


def test_landmarks_teach_the_network_their_class(build: Any, batch: FullBatch) -> None:
    stored = torch.full((4, 32, 32), IGNORE)
    stored[:, :8, :8] = LESION
    regions = torch.arange(16).view(4, 4).repeat_interleave(8, 0).repeat_interleave(8, 1).expand(4, 32, 32)
    taught = replace(batch, target=replace(batch.target, stored=stored, superpixels=regions))
    chances = {}
    for weight in (1.0, NOTHING):
        method = build(landmark_weight=weight, distribution_weight=0)
        train(method, taught, 10, "net")
        with torch.no_grad():
            chances[weight] = method.segmenter(batch.target.images).at((32, 32)).softmax(1)[:, LESION, :8, :8].mean()
    assert chances[1.0] > chances[NOTHING] + 0.2


def test_landmark_terms_are_the_recipes(build: Any, batch: FullBatch) -> None:
    """A network that says one half everywhere: each landmark costs log 2 by its weight, which is 1 on average."""
    method = build(distribution_weight=0)
    for parameter in (*method.segmenter.pixel_classifier.parameters(), method.segmenter.refinement.product.weight):
        torch.nn.init.zeros_(parameter)
    stored = torch.full((4, 32, 32), IGNORE)
    stored[:, :16] = 0
    regions = (torch.arange(32) // 16).view(1, 32, 1).expand(4, 32, 32)
    terms = method.losses("net", replace(batch, target=replace(batch.target, stored=stored, superpixels=regions)), {})
    assert set(terms) == {"segmentation_source", "classification_source", "classification_target", "landmarks"}
    assert terms["landmarks"].item() == pytest.approx(torch.tensor(2.0).log().item())


# -- the plan ---------------------------------------------------------------------------------------------------------


def test_a_switched_off_question_is_not_asked(build: Any, batch: FullBatch) -> None:
    both, no_shares, no_landmarks = build(), build(distribution_weight=0), build(landmark_weight=0)
    assert set(dict(both.named_children())) == {"segmenter", "descriptor", "regression"}
    assert set(dict(no_shares.named_children())) == {"segmenter"}
    no_shares.prepare([], None)
    assert both.wants_superpixels() and not no_landmarks.wants_superpixels()
    assert both.stages()[-1].target_pass and not no_landmarks.stages()[-1].target_pass
    assert "distribution" in both.losses("net", batch, {}) and "distribution" not in no_shares.losses("net", batch, {})
