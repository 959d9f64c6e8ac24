"""Pixel-adaptive refinement: a map moves to where colours change (PAMR: Araslanov, Roth, CVPR 2020; PAR: Ru et al.).

Every pixel takes the mean of its neighbours' values, weighted by how much they look like it, several times over.
Neighbours are the eight around it at several distances, so that a map spreads over a region in few rounds.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad, unfold

from endotransfer.batch import at_least_float32

DILATIONS = (1, 2, 4, 8, 12, 24)
ROUNDS = 10
SHARPNESS = 0.3  # w1: how many standard deviations make another colour, or another place
POSITION = 0.01  # w2: of nearness beside likeness
SMALLEST = 1e-8  # of a standard deviation


def refine_by_colour(
    maps: Tensor, images: Tensor, dilations: Sequence[int] = DILATIONS, rounds: int = ROUNDS
) -> Tensor:
    """Maps [B, H, W] and images [B, 3, H, W] of the same size -> refined maps [B, H, W].

    Each round: m_i <- sum over neighbours j of w_ij m_j, with weights that sum to 1 over j (`neighbour_weights`).
    """
    weights = neighbour_weights(images, dilations)
    for _ in range(rounds):
        maps = (weights * _neighbours(maps[:, None], dilations).squeeze(1)).sum(1)
    return maps


def neighbour_weights(images: Tensor, dilations: Sequence[int] = DILATIONS) -> Tensor:
    """w_ij = (softmax_j c_ij + w2 softmax_j d_ij) / (1 + w2): images [B, 3, H, W] -> [B, 8 x dilations, H, W].

    c_ij = -mean over colours of (|x_i - x_j| / (w1 s_i))^2, s_i the standard deviation of the neighbours' colours;
    d_ij = -(|p_i - p_j| / (w1 s))^2 with the distances of the neighbours and their standard deviation s.
    """
    images = at_least_float32(images)
    around = _neighbours(images, dilations)
    unlike = (around - images.unsqueeze(2)).abs() / (around.std(2, keepdim=True) + SMALLEST)
    colour = -((unlike / SHARPNESS) ** 2).mean(1)
    distance = images.new_tensor([d * step for d in dilations for step in _steps()])
    position = -((distance / (distance.std() + SMALLEST) / SHARPNESS) ** 2)
    # PAR leaves the sum at 1 + w2, so that values grow with every round; here thresholds follow.
    return (colour.softmax(1) + POSITION * position.softmax(0)[:, None, None]) / (1 + POSITION)


def _neighbours(maps: Tensor, dilations: Sequence[int]) -> Tensor:
    """The eight pixels around each at every distance: [B, C, H, W] -> [B, C, 8 x dilations, H, W].

    Beyond the border the image goes on as it ends there.
    """
    batch, channels, height, width = maps.shape
    around = []
    for distance in dilations:
        square = unfold(pad(maps, (distance,) * 4, mode="replicate"), 3, dilation=distance)
        square = square.view(batch, channels, 9, height, width)
        around += [square[:, :, :4], square[:, :, 5:]]  # all but the pixel itself
    return torch.cat(around, dim=2)


def _steps() -> list[float]:
    """Distances of the eight neighbours, row by row."""
    diagonal = 2**0.5
    return [diagonal, 1.0, diagonal, 1.0, 1.0, diagonal, 1.0, diagonal]
