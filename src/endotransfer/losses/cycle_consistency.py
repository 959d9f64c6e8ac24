"""What translators between two domains minimise (Zhu et al., "CycleGAN", ICCV 2017), with least-squares critics.

A critic scores real images as 1 and translated ones as 0.  Expectations are means over all cells and processes.
"""

from torch import Tensor

from endotransfer.batch import at_least_float32
from endotransfer.distributed import global_mean


def image_critic_loss(score_real: Tensor, score_translated: Tensor) -> Tensor:
    """What a critic minimises: half of E[(D(real) - 1)^2] + E[D(translated)^2]; scores of any shape."""
    return 0.5 * (_mean_square(score_real, 1.0) + _mean_square(score_translated, 0.0))


def realism_loss(score_translated: Tensor) -> Tensor:
    """What a translator minimises: E[(D(translated) - 1)^2]."""
    return _mean_square(score_translated, 1.0)


def cycle_loss(images: Tensor, there_and_back: Tensor) -> Tensor:
    """E[|G'(G(x)) - x|] over images [B, 3, H, W] of one domain and what came back of them."""
    return _mean((at_least_float32(there_and_back) - images).abs())


def _mean_square(score: Tensor, wanted: float) -> Tensor:
    return _mean((at_least_float32(score) - wanted).square())


def _mean(values: Tensor) -> Tensor:
    return global_mean(values.sum(), values.new_full((), values.numel()))  # a plain number makes a GPU's host wait
