"""CL does what it is for: predictions come to cover what the regression says, and sure super-pixels teach."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, PassBatch, SourceBatch
from endotransfer.config import ModelConfig, SuperpixelConfig
from endotransfer.data.phantom import render
from endotransfer.data.pipeline.superpixels import compute_superpixels
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


class Pictures:
    """Images named by their place, with super-pixels: by SLIC if asked, otherwise 64 squares."""

    def __init__(self, images: Tensor, *, slic: bool) -> None:
        self.images, self.slic = images, slic

    def keys(self, first: int, images: Tensor) -> list[str]:
        return [str(first + i) for i in range(len(images))]

    def superpixels(self, keys: list[str]) -> Tensor:
        if self.slic:
            pixels = [(255 * self.images[int(key)]).byte().permute(1, 2, 0).numpy() for key in keys]
            return torch.stack([torch.from_numpy(compute_superpixels(one, SuperpixelConfig())) for one in pixels])
        size = self.images.shape[-1]
        places = torch.arange(size) * 8 // size
        return (8 * places[:, None] + places).expand(len(keys), size, size)


class Source(Pictures):
    """A labelled source of few images."""

    def __init__(self, images: Tensor, masks: Tensor, *, slic: bool = False) -> None:
        super().__init__(images, slic=slic)
        self.masks = masks

    def __iter__(self) -> Any:
        for first in range(0, len(self.images), 4):
            part = slice(first, first + 4)
            images = self.images[part]
            yield SourceBatch(images, self.masks[part], None, self.keys(first, images))


class Target(Pictures):
    """A target set of few images that remembers what is stored."""

    def __init__(self, images: Tensor, tags: Tensor | None = None, *, slic: bool = False) -> None:
        super().__init__(images, slic=slic)
        self.tags, self.stored = tags, dict[str, Tensor]()

    def __iter__(self) -> Any:
        for first in range(0, len(self.images), 3):
            part = slice(first, first + 3)
            tags = None if self.tags is None else self.tags[part]
            yield PassBatch(self.images[part], tags, self.keys(first, self.images[part]))

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
    method.prepare(Source(*source), Target(target[0]))  # type: ignore[arg-type]
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
    method = CL(TaskInfo(2, True, model, 1), CLConfig.model_validate({"landmark_weight": 0}))
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


def squares_of_light(images: int, gain: float, seed: int) -> tuple[Tensor, Tensor]:
    """Dark images with one bright quarter, and that quarter as a mask."""
    generator = torch.Generator().manual_seed(seed)
    masks = torch.zeros(images, 64, 64, dtype=torch.long)
    for mask, place in zip(masks, torch.randint(0, 32, (images, 2), generator=generator).tolist(), strict=True):
        mask[place[0] : place[0] + 32, place[1] : place[1] + 32] = LESION
    light = 0.2 + 0.5 * masks[:, None] + 0.1 * torch.rand(images, 3, 64, 64, generator=generator)
    return gain * light, masks


@pytest.fixture
def prepared(build: Any) -> Any:
    """A method whose classifier has seen the source, and a darker target with its masks and its own set."""

    def make(tags: Tensor | None = None, **settings: Any) -> tuple[CL, Tensor, Target]:
        method = build(distribution_weight=0, epochs=4, **settings).eval()
        method.prepare(Source(*squares_of_light(12, 1.0, 0)), None)
        images, masks = squares_of_light(4, 0.8, 1)
        return method, masks, Target(images, tags)

    return make


def test_landmarks_are_what_the_sources_super_pixels_teach(prepared: Any) -> None:
    method, masks, target = prepared()
    figures = method.target_pass(target)
    labels = torch.stack([target.stored[str(i)] for i in range(4)])
    assert (labels != IGNORE).float().mean((1, 2)).tolist() == pytest.approx([39 / 64] * 4)  # 60 % of 64, rounded up
    chosen = labels != IGNORE
    assert (labels[chosen] == masks[chosen]).float().mean() > 0.8  # some lie across a border
    for kind in (NORMAL, LESION):
        assert (labels[chosen & (masks == kind)] == kind).float().mean() > 0.7
    assert sum(figures.values()) == pytest.approx(39 / 64)


def test_the_networks_own_opinion_does_not_change_them(prepared: Any) -> None:
    """Neither at first nor later: before, a network that saw lesions everywhere made all landmarks lesions."""
    method, _, target = prepared()
    method.target_pass(target)
    before = dict(target.stored)
    for parameter in method.segmenter.parameters():
        torch.nn.init.normal_(parameter)
    method.target_pass(target)
    assert all(torch.equal(before[key], labels) for key, labels in target.stored.items())


def test_landmarks_are_set_once_and_stay(build: Any) -> None:
    for epochs, rest in ((1, 1), (2, 1), (3, 2), (10, 9)):
        curriculum = build(epochs=epochs).stages()[-1]
        assert curriculum.epochs == rest and curriculum.pass_every >= rest


def test_no_landmark_is_a_lesion_where_the_tag_says_normal(prepared: Any) -> None:
    method, _, target = prepared(torch.tensor([NORMAL, LESION, -1, NORMAL]))
    method.target_pass(target)
    assert [LESION in target.stored[key].unique() for key in "0123"] == [False, True, True, False]
    assert all((labels != IGNORE).float().mean() == pytest.approx(39 / 64) for labels in target.stored.values())


def test_landmarks_of_real_features_are_mostly_right(real_weights: Any) -> None:
    """On the phantom, with the features of an ImageNet network."""
    model = ModelConfig(
        backbone="mobilenetv2_100", weights=real_weights("mobilenet_v2-imagenet-backbone-fp16.safetensors"),
        norm="frozen", multi_grid=None, aspp_rates=(1,), aspp_channels=8,
    )  # fmt: skip
    torch.manual_seed(0)
    method = CL(TaskInfo(2, True, model, 1), CLConfig.model_validate({"distribution_weight": 0}))
    source, (images, masks) = (phantom(domain, "lesion", 60, 64) for domain in ("gastroscopy", "capsule"))
    method.prepare(Source(*source, slic=True), None)  # type: ignore[arg-type]
    target = Target(images, slic=True)
    method.target_pass(target)  # type: ignore[arg-type]
    labels = torch.stack([target.stored[str(i)] for i in range(60)])
    found = [(labels[(labels != IGNORE) & (masks == kind)] == kind).float().mean().item() for kind in (NORMAL, LESION)]
    assert found[NORMAL] > 0.9 and found[LESION] > 0.5


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
    landmarks, shares = {"local_features", "classifier"}, {"descriptor", "regression"}
    assert set(dict(both.named_children())) == {"segmenter"} | shares | landmarks
    assert set(dict(no_shares.named_children())) == {"segmenter"} | landmarks
    assert set(dict(no_landmarks.named_children())) == {"segmenter"} | shares
    build(distribution_weight=0, landmark_weight=0).prepare([], None)
    assert both.wants_superpixels() and not no_landmarks.wants_superpixels()
    assert both.stages()[-1].target_pass and not no_landmarks.stages()[-1].target_pass
    assert "distribution" in both.losses("net", batch, {}) and "distribution" not in no_shares.losses("net", batch, {})


def test_it_says_so_where_its_features_were_never_trained(build: Any) -> None:
    (remark,) = build("untagged").findings()["remarks"]
    assert "no pretrained weights" in remark
    assert build("tagged").findings() == {}  # whose backbone comes from a file
