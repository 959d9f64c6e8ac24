"""Random scores for property tests, the same for the same seed."""

import torch
from hypothesis import strategies as st
from torch import Tensor

SEEDS = st.integers(0, 2**31)


def random_scores(seed: int, *shape: int, scale: float = 3.0) -> Tensor:
    """Normal numbers of the given shape, in float64."""
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
