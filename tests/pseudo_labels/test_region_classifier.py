"""The classifier of super-pixels against a reference, and what it promises of rare, missing and certain classes."""

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.pseudo_labels.region_classifier import RegionClassifier


def clouds(sizes: tuple[int, ...], channels: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Examples [N, C] of classes around centres of their own, and their classes [N]."""
    generator = torch.Generator().manual_seed(seed)
    centres = 2 * torch.randn(len(sizes), channels, generator=generator)
    labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return centres[labels] + torch.randn(len(labels), channels, generator=generator), labels


def fitted(described: Tensor, labels: Tensor, classes: int) -> RegionClassifier:
    classifier = RegionClassifier(described.shape[1], classes)
    classifier.fit(zip(torch.split(described, 7), torch.split(labels, 7), strict=True))
    return classifier


def test_it_is_the_linear_discriminant_of_equally_likely_classes() -> None:
    described, labels = clouds((40, 40, 40))  # as many of each: then its covariance is that of the textbook
    reference = LinearDiscriminantAnalysis(solver="lsqr", priors=[1 / 3] * 3).fit(described.numpy(), labels.numpy())
    found = fitted(described, labels, 3)(described).sigmoid().numpy()
    np.testing.assert_allclose(found, reference.predict_proba(described.numpy()), atol=0.03)
    assert (found.argmax(1) == reference.predict(described.numpy())).mean() > 0.98


def test_a_rare_class_is_found_as_often_as_a_common_one() -> None:
    generator = torch.Generator().manual_seed(1)
    labels = (torch.arange(2000) % 20 == 0).long()
    described = labels[:, None] * 1.5 + torch.randn(2000, 1, generator=generator)
    named = fitted(described, labels, 2)(described).argmax(1)
    right = [(named[labels == k] == k).double().mean().item() for k in (0, 1)]
    assert right[1] == pytest.approx(right[0], abs=0.1) and min(right) > 0.65


def test_neither_unlabelled_examples_nor_their_batches_matter() -> None:
    described, labels = clouds((30, 20))
    whole = fitted(described, labels, 2)
    more, unknown = torch.cat([described, 100 * torch.ones(5, 4)]), torch.cat([labels, torch.full((5,), IGNORE)])
    again = RegionClassifier(4, 2)
    again.fit([(more, unknown)])
    torch.testing.assert_close(again.weights, whole.weights)


def test_a_class_that_the_source_does_not_show_is_never_named() -> None:
    described, labels = clouds((30, 30))
    named = fitted(described, 2 * labels, 4)(10 * described)
    assert named.isfinite().all()
    assert set(named.argmax(1).tolist()) == {0, 2}


def test_more_channels_than_examples_are_no_trouble() -> None:
    described, labels = clouds((4, 3), channels=50)
    found = fitted(described, labels, 2)(described)
    assert found.isfinite().all() and (found.argmax(1) == labels).all()


def test_two_certain_super_pixels_can_be_told_apart() -> None:
    described, labels = clouds((30, 30))
    found = fitted(described, labels, 2)
    ray = found.weights[1] - found.weights[0]
    first, second = found(torch.stack([20 * ray, 21 * ray])[None])[0, :, 1]
    assert first < second and first.sigmoid() == second.sigmoid() == 1


def test_it_survives_a_checkpoint() -> None:
    described, labels = clouds((30, 30))
    one, other = fitted(described, labels, 2), RegionClassifier(4, 2)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(described), other(described))
