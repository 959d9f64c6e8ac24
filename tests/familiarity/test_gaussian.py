"""The shrunk Gaussian against scikit-learn's, which makes the whole matrix."""

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf

from endotransfer.familiarity.gaussian import fit_gaussian


@pytest.mark.parametrize(("images", "width"), [(200, 13), (40, 64), (30, 300)])
def test_distances_are_those_of_the_whole_matrix(images: int, width: int) -> None:
    draw = np.random.default_rng(width)
    values = draw.normal(size=(images, width)) @ draw.normal(size=(width, width)) + 5
    others = draw.normal(size=(7, width)) * 20
    literal = LedoitWolf().fit(values)
    found = fit_gaussian(values)
    for asked in (values, others):
        np.testing.assert_allclose(found.distance(asked), np.sqrt(literal.mahalanobis(asked)), rtol=1e-8)


def test_values_that_are_all_alike_divide_by_nothing_but_a_little() -> None:
    found = fit_gaussian(np.ones((30, 4)))
    assert found.distance(np.ones((1, 4)))[0] == 0
    assert np.isfinite(found.distance(np.zeros((1, 4)))[0])


def test_a_value_that_never_varied_counts_as_much_as_the_shrinkage_says() -> None:
    """A channel that is always 0 in training: to see it is unusual, and no division by zero."""
    draw = np.random.default_rng(0)
    values = np.c_[draw.normal(size=(50, 3)), np.zeros(50)]
    found = fit_gaussian(values)
    usual, unseen = found.distance(np.array([[0.0, 0, 0, 0], [0.0, 0, 0, 3]]))
    assert unseen > 5 > usual
