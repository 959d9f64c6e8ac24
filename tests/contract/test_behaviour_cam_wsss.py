"""CAM-WSSS does what it is for: S1's maps label the target, S2 learns these labels, and maps keep over scales."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate
from torch.optim import Adam

from endotransfer.batch import IGNORE, LESION, NORMAL, Batch, SourceBatch
from endotransfer.errors import ConfigError
from endotransfer.losses.cross_entropy import classification
from endotransfer.losses.equivariance import equivariance_loss
from endotransfer.methods.cam_wsss import CamWsss, CamWsssConfig
from endotransfer.methods.task import TaskInfo
from endotransfer.models.activation_maps import lesion_activation, normalised, rescaled
from tests.contract.behaviour import FullBatch, one_batch, train
from tests.contract.behaviour import build as build_method
from tests.contract.whole_source import share_ranked_right, whole_source
from tests.pseudo_labels.memory_target_set import TAGS, MemoryTargetSet

NOTHING = 1e-12  # a weight with which the term is there and cannot be felt
DYE = torch.tensor([0.0, 0.2, 1.0])[:, None, None]


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """One batch, half of whose target images are tagged lesion."""
    batch = one_batch(make_experiment, "cam_wsss")
    batch.target.tags = torch.tensor([NORMAL, LESION, NORMAL, LESION])
    return batch


@pytest.fixture
def unlabelled(batch: FullBatch) -> Batch:
    """After the warm-up, with no pixel of the target labelled."""
    nothing = torch.full((4, *batch.target.images.shape[-2:]), IGNORE)
    return Batch(batch.source, replace(batch.target, stored=nothing))


@pytest.fixture
def build(make_experiment: Any) -> Any:
    def make(**settings: Any) -> CamWsss:
        method = build_method(make_experiment, "cam_wsss", **settings)
        assert isinstance(method, CamWsss)
        return method

    return make


@torch.no_grad()
def s1_map(method: CamWsss, images: Tensor) -> Tensor:
    """The layer of S1 applied to every cell of what it sees, lesion minus normal."""
    assert method.segmenter.tag_head is not None
    cells: Tensor = method.segmenter.tag_head.linear(method.segmenter.stages(images)[-1].movedim(1, -1))
    return cells[..., LESION] - cells[..., NORMAL]


def test_the_pass_labels_by_s1_at_three_scales_and_both_orientations(build: Any) -> None:
    method, target = build(refine=False).eval(), MemoryTargetSet()
    method.segmenter.tag_head.linear.bias.data.zero_()
    method.target_pass(target)
    views = []
    for scale in (0.5, 1.0, 1.5):
        sized = rescaled(target.images, scale)
        for view in (s1_map(method, sized), s1_map(method, sized.flip(-1)).flip(-1)):
            views.append(
                interpolate(view.relu()[:, None], size=target.size, mode="bilinear", align_corners=False)[:, 0]
            )
    maps = normalised(torch.stack(views).mean(0))
    expected = torch.full_like(maps, IGNORE)
    expected[maps < 0.25], expected[maps > 0.7] = NORMAL, LESION
    shown = maps.amax((1, 2)) > 0
    for labels, wanted, tag, found in zip(target.maps, expected, TAGS, shown.tolist(), strict=True):
        if tag == LESION and found:
            assert (labels != wanted).double().mean().item() < 0.01  # a pixel may lie on a threshold
        else:
            assert labels.unique().tolist() == [NORMAL if tag == NORMAL else IGNORE]
    assert shown[torch.tensor(TAGS) == LESION].any()


def test_refinement_changes_labels_where_colours_say_so(build: Any) -> None:
    labels = []
    for refine in (True, False):
        method, target = build(refine=refine).eval(), MemoryTargetSet()
        method.segmenter.tag_head.linear.bias.data.zero_()
        method.target_pass(target)
        labels.append(target.maps)
    lesion = torch.tensor(TAGS) == LESION
    assert (labels[0] != labels[1])[lesion].any() and torch.equal(labels[0][~lesion], labels[1][~lesion])


def test_s2_learns_the_stored_labels(build: Any, batch: FullBatch) -> None:
    """Lesions in the left half, which no mask and no tag tells of."""
    stored = torch.full(batch.target.images.shape[-2:], NORMAL).expand(4, -1, -1).clone()
    stored[1::2, :, :16] = LESION
    gaps = {}
    for weight in (1.0, 0.0):
        method = build(label_weight=weight)
        train(method, Batch(batch.source, replace(batch.target, stored=stored)), 25, "net", lr=4e-3)
        with torch.no_grad():
            found = method.segmenter(batch.target.images, domain="target").at(stored.shape[-2:]).softmax(1)[:, LESION]
        gaps[weight] = (found[stored == LESION].mean() - found[stored == NORMAL].mean()).item()
    assert gaps[1.0] > 0.5
    assert gaps[1.0] > gaps[0.0] + 0.3


def test_tags_alone_find_the_lesion_where_only_a_local_sign_tells_them(build: Any, make_experiment: Any) -> None:
    """Each image is there twice, its lesion dyed (tagged lesion) and not (tagged normal); the backbone stands still."""
    source: SourceBatch = whole_source(make_experiment, "cam_wsss")
    shown = source.tags == LESION
    images, lesions = source.images[shown], source.masks[shown] == LESION
    both = torch.cat([torch.where(lesions[:, None], 0.4 * images + 0.6 * DYE, images), images])
    tags = torch.arange(len(both)).lt(len(images)).long()
    method = build()
    head = method.segmenter.tag_head
    with torch.no_grad():
        features = method.segmenter.stages(both)[-1]
    torch.nn.init.zeros_(head.linear.weight)
    optimiser = Adam(head.parameters(), lr=3e-3)
    for _ in range(150):
        optimiser.zero_grad()
        torch.autograd.backward(classification(head(features), tags))
        optimiser.step()
    maps = lesion_activation(head, features).detach()[: len(images)]
    sized = interpolate(maps[:, None], size=lesions.shape[-2:], mode="bilinear", align_corners=False)[:, 0]
    ranked = [share_ranked_right(one, truth) for one, truth in zip(sized, lesions, strict=True)]
    assert sum(ranked) / len(ranked) > 0.8


def test_equivariance_makes_maps_of_two_scales_agree(build: Any, unlabelled: Batch) -> None:
    assert unlabelled.target is not None and unlabelled.target.tags is not None
    images, apart = unlabelled.target.images, {}
    for weight in (1.0, NOTHING):
        method = build(equivariance=weight)
        train(method, unlabelled, 15, "net", lr=2e-3)
        whole, small = (s1_map(method, rescaled(images, scale)) for scale in (1.0, 0.5))
        apart[weight] = equivariance_loss(whole, small, unlabelled.target.tags).item()
    assert apart[1.0] < 0.5 * apart[NOTHING]


def test_losses_are_the_recipes(build: Any, batch: FullBatch, unlabelled: Batch) -> None:
    names = {"segmentation_source", "classification_source", "classification_target"}
    for weight in (0.0, 0.1):  # nothing is stored in the warm-up
        assert set(build(equivariance=weight).losses("net", batch, {})) == names
    names |= {"segmentation_target"}
    assert set(build().losses("net", unlabelled, {})) == names
    assert set(build(equivariance=0.1).losses("net", unlabelled, {})) == names | {"equivariance"}
    stored = Batch(batch.source, replace(batch.target, stored=torch.zeros(4, 32, 32, dtype=torch.int64)))
    method = build()
    with torch.no_grad():
        logits = method.segmenter(batch.target.images, domain="target").at((32, 32))
    expected = -0.1 * 0.5 * logits.log_softmax(1)[:, NORMAL].mean().item()  # half of a weight of 0.1: the normal side
    assert method.losses("net", stored, {})["segmentation_target"].item() == pytest.approx(expected, rel=1e-4)


def test_both_forwards_give_the_same_losses(build: Any, unlabelled: Batch) -> None:
    """The preset forwards each domain by itself, to get at what S1 sees."""
    plain, other = (build(equivariance=weight).losses("net", unlabelled, {}) for weight in (0.0, 0.1))
    for name in ("segmentation_source", "classification_source"):
        assert plain[name].item() == pytest.approx(other[name].item(), rel=1e-4)


def test_it_labels_after_a_warm_up_on_both_domains(build: Any) -> None:
    method = build()
    method.task = replace(method.task, epochs=5)
    warm, labelled = method.stages()
    assert (warm.epochs, warm.target, warm.target_pass) == (1, True, False)
    assert (labelled.epochs, labelled.target_pass, labelled.pass_every) == (4, True, 1)


@pytest.mark.parametrize(("classes", "settings"), [(5, {}), (2, {"low": 0.8})])
def test_what_it_cannot_do_is_refused(make_experiment: Any, classes: int, settings: dict[str, float]) -> None:
    task = TaskInfo(classes, True, make_experiment("tagged", "cam_wsss").model, epochs=1)
    with pytest.raises(ConfigError, match=r"5 classes|is above method\.high"):
        CamWsss(task, CamWsssConfig.model_validate(settings))
