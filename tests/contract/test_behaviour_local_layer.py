"""The local layer alone finds lesions from source masks and target tags, and its limit is set by normal images."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, PassBatch, SourceBatch
from endotransfer.errors import ConfigError
from endotransfer.methods.local_layer_only import LocalLayer, LocalLayerConfig
from endotransfer.methods.task import TaskInfo
from tests.contract.behaviour import build
from tests.contract.whole_source import share_ranked_right

SIZE, SQUARE = 64, 24
GREEN, CYAN = (torch.tensor(colour)[:, None, None] for colour in ([0.0, 1.0, 0.0], [0.0, 1.0, 1.0]))


class ListedTarget:
    """A target set of given images and tags, in batches of four."""

    def __init__(self, images: Tensor, tags: Tensor) -> None:
        self.images, self.tags, self.total = images, tags, len(images)

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for start in range(4 * batches, self.total, 4):
            part = slice(start, start + 4)
            tags = self.tags[part]
            yield PassBatch(self.images[part], tags, [str(start + i) for i in range(len(tags))])


class ListedSource:
    def __init__(self, batch: SourceBatch) -> None:
        self.batch = batch

    def __iter__(self) -> Iterator[SourceBatch]:
        return iter([self.batch])

    def __len__(self) -> int:
        return len(self.batch.masks)


def textures(images: int, dye: Tensor, lesions: int, seed: int) -> tuple[Tensor, Tensor]:
    """Grey noise [N, 3, 64, 64], a square of the first `lesions` images dyed, and the squares [N, 64, 64] bool."""
    generator = torch.Generator().manual_seed(seed)
    grey = 0.4 + 0.2 * torch.rand(images, 3, SIZE, SIZE, generator=generator)
    corners = torch.randint(0, SIZE - SQUARE, (lesions, 2), generator=generator)
    shown = torch.zeros(images, SIZE, SIZE, dtype=torch.bool)
    for image, (row, column) in zip(shown, corners.tolist(), strict=False):
        image[row : row + SQUARE, column : column + SQUARE] = True
    return torch.where(shown.unsqueeze(1), 0.6 * grey + 0.4 * dye, grey), shown


@pytest.fixture(scope="module")
def source() -> SourceBatch:
    """Green lesions, with masks."""
    images, shown = textures(8, GREEN, 8, seed=1)
    return SourceBatch(images, shown.long(), torch.full((8,), LESION))


@pytest.fixture(scope="module")
def dyed() -> tuple[ListedTarget, Tensor]:
    """Cyan lesions in half of a target that has tags; and where they are, for the tests alone."""
    images, shown = textures(16, CYAN, 8, seed=2)
    return ListedTarget(images, shown.any((1, 2)).long()), shown[:8]


def taught(make_experiment: Any, source: SourceBatch, target: ListedTarget, **settings: Any) -> LocalLayer:
    """After `prepare` and the pass, as a run ends."""
    method = build(make_experiment, "local_layer", local_steps=100, **settings)
    assert isinstance(method, LocalLayer)
    with torch.no_grad():
        method.eval().prepare(ListedSource(source), target)  # type: ignore[arg-type]
        figures = method.target_pass(target)  # type: ignore[arg-type]
    assert figures["local_limit"] == method.segmenter.limit.item()
    return method


@torch.no_grad()
def ranked_right(method: LocalLayer, target: ListedTarget, lesions: Tensor) -> float:
    maps = method.predict_target(target.images[: len(lesions)]).at(lesions.shape[-2:])[:, LESION]
    return sum(share_ranked_right(one, truth) for one, truth in zip(maps, lesions, strict=True)) / len(lesions)


def test_target_tags_teach_what_the_source_does_not_show(
    make_experiment: Any, source: SourceBatch, dyed: tuple[ListedTarget, Tensor]
) -> None:
    target, lesions = dyed
    with_tags = taught(make_experiment, source, target)
    unknown = ListedTarget(target.images, torch.full_like(target.tags, UNKNOWN_TAG))
    without = taught(make_experiment, source, unknown)
    assert ranked_right(with_tags, target, lesions) > 0.9
    assert ranked_right(without, target, lesions) < 0.6


def test_at_most_the_given_share_of_the_places_of_normal_images_is_called_lesion(
    make_experiment: Any, source: SourceBatch, dyed: tuple[ListedTarget, Tensor]
) -> None:
    target, _ = dyed
    normal = target.images[target.tags == NORMAL]
    alarms = []
    for share in (0.003, 0.1, 0.5):
        method = taught(make_experiment, source, target, false_alarms=share)
        with torch.no_grad():
            called = method.predict_target(normal).logits.argmax(1) == LESION
        alarms.append(called.double().mean().item())
        assert alarms[-1] <= share
    assert alarms == sorted(alarms) and alarms[-1] > 0.3


def test_without_normal_images_the_limit_is_where_the_layer_itself_decides(
    make_experiment: Any, source: SourceBatch, dyed: tuple[ListedTarget, Tensor]
) -> None:
    target, _ = dyed
    lesions = target.tags == LESION
    method = taught(make_experiment, source, ListedTarget(target.images[lesions], target.tags[lesions]))
    assert method.segmenter.limit.item() == 0 and method.segmenter.scorer.linear.weight.abs().sum() > 0
    assert taught(make_experiment, source, target).segmenter.limit.item() != 0


def test_images_tagged_lesion_have_the_larger_tag_logits(
    make_experiment: Any, source: SourceBatch, dyed: tuple[ListedTarget, Tensor]
) -> None:
    target, _ = dyed
    method = taught(make_experiment, source, target)
    with torch.no_grad():
        tag_logits = method.predict_target(target.images).tag_logits
    assert tag_logits is not None
    assert share_ranked_right(tag_logits[:, LESION], target.tags == LESION) > 0.9


def test_no_network_is_trained_and_the_backbone_stays(
    make_experiment: Any, source: SourceBatch, dyed: tuple[ListedTarget, Tensor]
) -> None:
    before = build(make_experiment, "local_layer").state_dict()
    after = taught(make_experiment, source, dyed[0]).state_dict()
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert changed == {"segmenter.scorer.linear.weight", "segmenter.scorer.linear.bias", "segmenter.limit"}
    (stage,) = build(make_experiment, "local_layer").stages()
    assert stage.phases == () and stage.target_pass


def test_more_classes_than_normal_and_lesion_are_refused(make_experiment: Any) -> None:
    model = make_experiment("tagged", "local_layer").model
    with pytest.raises(ConfigError, match=r"local_layer .* 5 classes"):
        LocalLayer(TaskInfo(5, True, model, epochs=1), LocalLayerConfig.model_validate({}))


def test_it_works_without_pretrained_weights(
    make_experiment: Any, source: SourceBatch, dyed: tuple[ListedTarget, Tensor]
) -> None:
    """Not usefully: random features say little.  But a run must end."""
    torch.manual_seed(0)
    model = make_experiment("tagged", "local_layer").model.model_copy(update={"weights": None})
    method = LocalLayer(TaskInfo(2, True, model, epochs=1), LocalLayerConfig.model_validate({"local_steps": 5}))
    with torch.no_grad():
        method.prepare(ListedSource(source), dyed[0])  # type: ignore[arg-type]
        method.target_pass(dyed[0])  # type: ignore[arg-type]
        assert method.predict_target(dyed[0].images).logits.isfinite().all()
