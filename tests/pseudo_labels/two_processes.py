"""What each of two processes checks: together they equal one process that holds all the data."""

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor

from endotransfer.batch import IGNORE, LESION, NORMAL, PassBatch, SegOutput
from endotransfer.losses.centroids import Centroids, alignment, class_sums
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.pseudo_labels.label_target_set import label_target_set
from endotransfer.pseudo_labels.local_labeller import LocalLabeller
from endotransfer.pseudo_labels.local_layer import source_loss, target_loss
from endotransfer.pseudo_labels.logit_cache import LogitCache
from endotransfer.pseudo_labels.thresholds import ThresholdState
from tests.gradients import gradient

SPLIT = 1  # images of the first process, of three: shares are uneven on purpose
TAGS = torch.tensor([NORMAL, LESION, NORMAL])


def check(rank: int, rendezvous: str) -> None:
    """Run by process `rank`; an assertion that fails here fails the test."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(3, 4, 5, 5, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 3, (3, 5, 5), generator=generator)
    labels[labels == 2] = IGNORE
    labels[0, :, 1:] = IGNORE  # the first process has little that is labelled
    logits = torch.randn(3, 2, 8, 8, generator=generator)
    mine = slice(0, SPLIT) if rank == 0 else slice(SPLIT, None)

    alone = [centroid_gradient(features, labels), segmentation_gradient(features, labels), thresholds(logits)]
    alone += [layer_gradient(features[:, 0], labels, TAGS), *heard(logits, slice(None))]
    summary_alone = label_target_set(as_output, Images(logits), 2, 0.4)
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=2)
    try:
        shared = centroid_gradient(features[mine], labels[mine]), segmentation_gradient(features[mine], labels[mine])
        on_layer = layer_gradient(features[mine, 0], labels[mine], TAGS[mine])
        for whole, part in [(alone[0], shared[0]), (alone[1], shared[1]), (alone[3], on_layer)]:
            # The engine averages gradients over processes; each image is in one process only.
            torch.testing.assert_close(part / 2, whole[mine], rtol=1e-12, atol=1e-14)
        assert torch.equal(thresholds(logits[mine]), alone[2])
        assert all(torch.equal(one, other) for one, other in zip(heard(logits, mine), alone[4:], strict=True))
        everything = slice(None) if rank == 0 else slice(0, 0)  # one process has no image at all
        assert label_target_set(as_output, Images(logits[everything]), 2, 0.4, device="cpu") == summary_alone
    finally:
        dist.destroy_process_group()


def centroid_gradient(features: Tensor, labels: Tensor) -> Tensor:
    """d alignment / d features in the second of two steps."""
    features = features.clone().requires_grad_()
    centroids = Centroids(2, 4, average="class_pixels", history="moving_average").double()
    centroids(*class_sums(features.detach() + 1, labels, 2), labels.numel())
    current = centroids(*class_sums(features, labels, 2), labels.numel())
    return gradient(alignment(current, torch.zeros_like(current), 0.5, centroids.seen), features)


def segmentation_gradient(logits: Tensor, labels: Tensor) -> Tensor:
    logits = logits.clone().requires_grad_()
    return gradient(segmentation(logits, labels), logits)


def layer_gradient(scores: Tensor, masks: Tensor, tags: Tensor) -> Tensor:
    scores = scores.clone().requires_grad_()
    lead = torch.linspace(1, -1, scores[0].numel(), dtype=scores.dtype)
    terms = source_loss(scores, masks) + target_loss(scores, tags) + target_loss(scores, tags, lead)
    return gradient(terms, scores)


def heard(logits: Tensor, mine: slice) -> list[Tensor]:
    """What the labeller makes of both scorers on some of the images: its histograms, limit, gap and segmenter_alone."""
    labeller = LocalLabeller(lambda images: images, 0.0, None)
    labeller.observe(logits[mine], logits[mine, 0], TAGS[mine])
    labeller.settle()
    histograms = (labeller.on_normal, labeller.lesions, labeller.normals)
    return [
        *(histogram.counts for histogram in histograms),
        labeller.limit,
        labeller.localisation_gap,
        labeller.segmenter_alone,
    ]


def thresholds(logits: Tensor) -> Tensor:
    state = ThresholdState(2, bins_per_octave=64)
    state.update(logits)
    state.reduce_over_processes()
    return state.thresholds(0.4)


class Images:
    """A target set whose images are their own logits."""

    def __init__(self, logits: Tensor) -> None:
        self.logits, self.cache, self.size = logits, LogitCache(), (logits.shape[-2], logits.shape[-1])
        self.total = len(logits)

    def logit_cache(self, channels: int) -> LogitCache:
        return self.cache

    def __iter__(self) -> Iterator[PassBatch]:
        return self.after(0)

    def without_images(self) -> Iterator[PassBatch]:
        return self.after(0)

    def after(self, batches: int) -> Iterator[PassBatch]:
        for i in range(batches, len(self.logits)):
            yield PassBatch(self.logits[i : i + 1], None, [str(i)])

    def superpixels(self, keys: list[str]) -> Tensor:
        raise AssertionError("nobody votes here")

    def store(self, keys: list[str], maps: Tensor) -> None:
        pass


def as_output(images: Tensor) -> SegOutput:
    return SegOutput(logits=images, tag_logits=None, features=images)
