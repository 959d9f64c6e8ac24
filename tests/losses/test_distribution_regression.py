"""The regression of label distributions: ridge against its definition, and what domains and tags change."""

from functools import partial

import pytest
import torch
from sklearn.linear_model import Ridge
from torch import Tensor

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG
from endotransfer.losses.distribution_regression import DistributionRegression, ridge

Domains = tuple[Tensor, Tensor, Tensor, Tensor]

random = partial(torch.randn, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(40, 5, 3), (6, 20, 2)])
def test_ridge_is_scikit_learns(shape: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    images, size, classes = shape
    inputs, outputs = 3 * random(images, size) + 1, random(images, classes)
    weights, offset = ridge(inputs, outputs, 0.7)
    penalty = 0.7 * inputs.var(0, unbiased=False).mean().item() * images
    literal = Ridge(alpha=penalty).fit(inputs.numpy(), outputs.numpy())
    torch.testing.assert_close(weights, torch.from_numpy(literal.coef_.T))
    torch.testing.assert_close(offset, torch.from_numpy(literal.intercept_))


def test_inputs_that_never_change_give_the_mean() -> None:
    outputs = torch.tensor([[0.2, 0.8], [0.6, 0.4]]).double()
    weights, offset = ridge(torch.ones(2, 3).double(), outputs, 1.0)
    assert (weights == 0).all()
    torch.testing.assert_close(offset, outputs.mean(0))


@pytest.fixture
def domains() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Source descriptors and distributions, target descriptors (of another scale and origin) and distributions."""
    torch.manual_seed(1)
    inner = torch.rand(300, 4).double()
    truth = torch.stack([1 - 0.6 * inner[:, 0], 0.6 * inner[:, 0]], 1)
    truth[::3] = torch.tensor([1.0, 0.0]).double()  # every third shows no lesion, whatever its descriptor
    return inner[:150], truth[:150], 50 + 7 * inner[150:], truth[150:]


@pytest.fixture
def fitted(domains: tuple[Tensor, Tensor, Tensor, Tensor]) -> DistributionRegression:
    source, distributions, target, _ = domains
    regression = DistributionRegression(4, 2).double()
    regression.fit(source, distributions, iter(torch.split(target, 40)), strength=0.01)
    return regression


def test_it_beats_the_constant_mean_though_the_domains_differ(fitted: DistributionRegression, domains: Domains) -> None:
    _, distributions, target, truth = domains
    found = fitted(target)
    torch.testing.assert_close(found.sum(1), torch.ones(150).double())
    assert found.min() >= 0
    error, constant = ((guess - truth).abs().sum(1).mean() for guess in (found, distributions.mean(0)))
    assert error < 0.9 * constant


def test_tags_decide_first(fitted: DistributionRegression, domains: Domains) -> None:
    _, distributions, target, _ = domains
    tags = torch.tensor([NORMAL, LESION, UNKNOWN_TAG]).repeat(50)
    found, untagged = fitted(target, tags), fitted(target)
    assert (found[::3] == torch.tensor([1.0, 0.0]).double()).all()
    assert torch.equal(found[2::3], untagged[2::3])
    ill = found[1::3]
    assert ill[:, 1].mean() > 1.3 * untagged[1::3, 1].mean()
    prior = distributions[distributions[:, 1] > 0].mean(0)
    torch.testing.assert_close(ill.mean(0), prior, rtol=0, atol=0.05)


def test_images_without_labels_and_sources_without_lesions_are_no_obstacle() -> None:
    regression = DistributionRegression(3, 2)
    distributions = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    regression.fit(torch.rand(3, 3), distributions, [torch.rand(4, 3)], strength=1.0)
    tags = torch.tensor([LESION, NORMAL])
    torch.testing.assert_close(regression(torch.rand(2, 3), tags), torch.tensor([[1.0, 0.0], [1.0, 0.0]]))


def test_what_lies_far_outside_is_not_extrapolated(fitted: DistributionRegression, domains: Domains) -> None:
    _, _, target, _ = domains
    farther, farthest = (target[:1] + distance for distance in (1e3, 1e6))
    assert torch.equal(fitted(farther), fitted(farthest))


def test_before_it_is_fitted_every_class_is_as_likely_and_its_state_travels(
    fitted: DistributionRegression, domains: Domains
) -> None:
    other = DistributionRegression(4, 2).double()
    target = domains[2]
    assert (other(target) == 0.5).all()
    other.load_state_dict(fitted.state_dict())
    assert torch.equal(other(target), fitted(target))


def test_bf16_around_it_changes_nothing(fitted: DistributionRegression, domains: Domains) -> None:
    source, distributions, target, _ = (part.float() for part in domains)
    plain, inside = DistributionRegression(4, 2), DistributionRegression(4, 2)
    plain.fit(source, distributions, [target], 0.1)
    expected = plain(target)
    with torch.autocast("cpu", torch.bfloat16):
        inside.fit(source, distributions, [target], 0.1)
        found = inside(target)
    assert torch.equal(found, expected)
