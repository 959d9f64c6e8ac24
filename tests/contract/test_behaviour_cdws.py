"""CDWS learns a lesion's size and place from tags: each constraint does its work, and no pixel label is read."""

from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch.optim import Adam

from endotransfer.batch import LESION, SegOutput, SourceBatch
from endotransfer.errors import ConfigError
from endotransfer.methods.cdws import Cdws, CdwsConfig
from endotransfer.methods.task import TaskInfo
from endotransfer.models.segmenters.cdws_segmenter import CdwsSegmenter
from tests.contract.behaviour import FullBatch, build, one_batch, train
from tests.contract.whole_source import OneBatch, share_ranked_right, whole_source

DYE = torch.tensor([0.0, 0.2, 1.0])[:, None, None]


@pytest.fixture(scope="module")
def batch(make_experiment: Any) -> FullBatch:
    """One batch of the tagged task, its masks taken away."""
    batch = one_batch(make_experiment, "cdws")
    batch.source.masks = batch.source.masks[:0]
    return batch


@pytest.fixture(scope="module")
def source(make_experiment: Any) -> SourceBatch:
    return whole_source(make_experiment, "cdws")


def prepared(make_experiment: Any, source: SourceBatch, **settings: Any) -> Cdws:
    method = build(make_experiment, "cdws", **settings)
    assert isinstance(method, Cdws)
    method.prepare(OneBatch(source), None)
    return method


@torch.no_grad()
def lesion_maps(method: Cdws, batch: FullBatch) -> tuple[Tensor, Tensor]:
    """Lesion probabilities of both domains' images [B, H, W], and their tags."""
    assert batch.source.tags is not None and batch.target.tags is not None
    images = torch.cat([batch.source.images, batch.target.images])
    return method.segmenter(images).logits.softmax(1)[:, LESION], torch.cat([batch.source.tags, batch.target.tags])


def test_the_mean_area_is_that_of_masks_with_a_lesion(make_experiment: Any, source: SourceBatch) -> None:
    shares = [(mask == LESION).double().mean().item() for mask in source.masks]
    lesions = [share for share in shares if share > 0]
    assert 0 < len(lesions) < len(shares)
    method = prepared(make_experiment, source)
    assert method.mean_area.item() == pytest.approx(sum(lesions) / len(lesions))
    assert "mean_area" in method.state_dict()  # a resumed run does not prepare again


def test_an_image_is_asked_for_its_own_area_where_it_has_a_mask(make_experiment: Any, source: SourceBatch) -> None:
    method = prepared(make_experiment, source)
    assert source.tags is not None
    part = SourceBatch(source.images[:4], source.masks[:2].clone(), source.tags[:4])
    own = [(mask == LESION).float().mean().item() for mask in part.masks]
    mean = method.mean_area.item()
    assert method.areas(part).tolist() == pytest.approx([*own, mean, mean])
    part.masks[0] = 255
    assert method.areas(part).tolist() == pytest.approx([mean, own[1], mean, mean])


def test_lesion_maps_approach_the_area_asked_for(make_experiment: Any, batch: FullBatch, source: SourceBatch) -> None:
    errors = {}
    for weights in ((2.5, 5.0, 10.0, 10.0), (0.0,) * 4):
        method = prepared(make_experiment, source, area_weights=weights)
        train(method, batch, 30, "net", lr=3e-3)
        maps, tags = lesion_maps(method, batch)
        errors[weights[0]] = (maps.mean((1, 2)) - method.mean_area)[tags == LESION].abs().mean().item()
    assert errors[2.5] < 0.12
    assert errors[2.5] < 0.5 * errors[0.0]


def test_scores_tell_tags_apart_without_any_mask(make_experiment: Any, batch: FullBatch, source: SourceBatch) -> None:
    method = prepared(make_experiment, source)
    train(method, batch, 40, "net", lr=3e-3)
    maps, tags = lesion_maps(method, batch)
    scores = maps.pow(4).mean((1, 2)).pow(1 / 4)
    assert scores[tags == LESION].min() > scores[tags != LESION].max() + 0.1


def test_tags_find_the_lesion_where_only_a_local_sign_tells_them(make_experiment: Any, source: SourceBatch) -> None:
    """Each image is there twice, its lesion dyed (tagged lesion) and not (tagged normal); the area alone finds nothing.

    The backbone stands still: at 32 pixels a trained one sees the whole image from every pixel, and may say
    "lesion" anywhere.
    """
    shown = source.tags == LESION
    images, lesions = source.images[shown], source.masks[shown] == LESION
    images, lesions = (torch.cat([part, part.flip(-1), part.flip(-2)]) for part in (images, lesions))
    both = torch.cat([torch.where(lesions[:, None], 0.4 * images + 0.6 * DYE, images), images])
    tags = torch.arange(len(both)).lt(len(images)).long()
    found = {}
    for terms in (("mil_target", "area_target"), ("area_target",)):
        maps = maps_of_trained_heads(local_cdws(make_experiment, source), both, tags, terms)
        ranked = [share_ranked_right(one, truth) for one, truth in zip(maps, lesions, strict=False)]
        found[len(terms)] = sum(ranked) / len(ranked)
    assert found[2] > 0.85 > 0.65 > found[1]


def local_cdws(make_experiment: Any, source: SourceBatch) -> Cdws:
    """With batch statistics, because those of a group would carry the rest of the image into every pixel."""
    torch.manual_seed(0)
    model = make_experiment("tagged", "cdws").model.model_copy(update={"norm": "batch"})
    method = Cdws(TaskInfo(2, True, model, epochs=1), CdwsConfig.model_validate({}))
    method.prepare(OneBatch(source), None)
    return method


def maps_of_trained_heads(method: Cdws, images: Tensor, tags: Tensor, terms: tuple[str, ...]) -> Tensor:
    segmenter = method.segmenter
    assert isinstance(segmenter, CdwsSegmenter)
    with torch.no_grad():
        stages = segmenter.stages(images)
    with patch.object(segmenter, "stages", lambda _: stages):
        optimiser = Adam(segmenter.pixel_classifiers.parameters(), lr=3e-2)
        for _ in range(150):
            optimiser.zero_grad()
            weak = method.weak_terms("target", segmenter(images), tags, method.mean_area.expand(len(tags)))
            torch.autograd.backward(torch.stack([weak[name] for name in terms]).sum())
            optimiser.step()
        with torch.no_grad():
            output: SegOutput = segmenter(images)
        return output.logits.softmax(1)[:, LESION]


def test_pixel_labels_are_read_by_preset_masks_alone(make_experiment: Any) -> None:
    batch = one_batch(make_experiment, "cdws")
    weak = {f"{term}_{domain}" for term in ("mil", "area", "classification") for domain in ("source", "target")}
    assert set(build(make_experiment, "cdws").losses("net", batch, {})) == weak
    with_masks = build(make_experiment, "cdws", **Cdws.presets["masks"]).losses("net", batch, {})
    assert set(with_masks) == weak | {"segmentation_source"}


def test_more_classes_than_normal_and_lesion_are_refused(make_experiment: Any) -> None:
    with pytest.raises(ConfigError, match="5 classes"):
        Cdws(TaskInfo(5, True, make_experiment("tagged", "cdws").model, epochs=1), CdwsConfig.model_validate({}))
