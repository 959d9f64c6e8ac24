"""What the tests of `tag_transfer` share: fresh methods, and a pass over random images with a chosen segmenter."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, NORMAL, PassBatch, SegOutput
from endotransfer.methods.resolve import method_config
from endotransfer.methods.tag_transfer import TagTransfer
from endotransfer.methods.task import Progress, TaskInfo
from endotransfer.pseudo_labels.logit_cache import LogitCache
from endotransfer.pseudo_labels.tag_labellers import LocalTagLabeller

EPOCHS = 4


def build(
    make_experiment: Any, task: str = "tagged", model: dict[str, Any] | None = None, **settings: Any
) -> TagTransfer:
    """tag_transfer with some settings changed; `model` changes the network's.  The same weights for the same task."""
    torch.manual_seed(0)
    config = method_config({"name": "tag_transfer", "fill_normal": False} | settings)[2]
    network = make_experiment(task, "tag_transfer").model.model_copy(update={"dropout": 0.0} | (model or {}))
    tagged = task == "tagged"
    return TagTransfer(TaskInfo(2 if tagged else 5, tagged, network, EPOCHS), config)


def build_with_scores(make_experiment: Any, **settings: Any) -> TagTransfer:
    """With random local scores that agree, in lesion images, with the segmenter of `pass_over`."""
    method = build(make_experiment, **settings)
    if isinstance(method.labeller, LocalTagLabeller):
        torch.manual_seed(0)
        torch.nn.init.normal_(method.labeller.scorer.linear.weight)
        method.labeller.scorer.linear.weight.data.neg_()  # as drawn they disagree
    return method


def local_labeller(method: TagTransfer) -> LocalTagLabeller:
    assert isinstance(method.labeller, LocalTagLabeller)
    return method.labeller


class RandomTargetSet:
    """Eight random images of 32 pixels, every other one tagged lesion, in batches of three."""

    def __init__(self) -> None:
        self.images = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        self.tags = torch.tensor([NORMAL, LESION] * 4)
        self.keys, self.size = [str(i) for i in range(8)], (32, 32)
        self.cache, self.maps = LogitCache(), torch.zeros(8, 32, 32, dtype=torch.uint8)

    def logit_cache(self, channels: int) -> LogitCache:
        return self.cache

    def without_images(self) -> Iterator[PassBatch]:
        return self.after(0)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for start in range(3 * batches, 8, 3):
            part = slice(start, start + 3)
            yield PassBatch(self.images[part], self.tags[part], self.keys[part])

    def superpixels(self, keys: list[str]) -> Tensor:
        raise AssertionError("no rule asks for them")

    def store(self, keys: list[str], maps: Tensor) -> None:
        self.maps[[int(key) for key in keys]] = maps

    @property
    def lesions(self) -> Tensor:
        return self.maps[self.tags == LESION]


def pass_over(
    method: TagTransfer, epoch: int, tag_signal: float, channel: int = 0
) -> tuple[RandomTargetSet, dict[str, float]]:
    """A pass whose segmenter scores lesion images higher than normal ones by `tag_signal`, and bright places of all.

    `channel`: of the colour whose brightness counts.  Returns the target set, which holds the labels, and the figures.
    """
    target = RandomTargetSet()
    by_image = {float(image.sum()): tag for image, tag in zip(target.images, target.tags, strict=True)}

    def predict(images: Tensor) -> SegOutput:
        tags = torch.stack([by_image[float(image.sum())] for image in images])
        bright = interpolate(images, size=(4, 4), mode="bilinear", antialias=True)[:, channel]
        score = 9 * (bright - 0.5) + tag_signal * (tags.view(-1, 1, 1) - 0.5)
        return SegOutput(torch.stack([-score / 2, score / 2], dim=1), None, bright)

    method.predict_target = predict  # type: ignore[method-assign]
    method.progress = Progress(stage="transfer", stage_epoch=epoch)
    method.eval()
    return target, method.target_pass(target)  # type: ignore[arg-type]
