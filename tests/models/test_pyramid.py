"""The pyramid, against its literal sum: which maps take part, at which size, and who learns."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.models.pyramid import Pyramid, at_size


def maps_of(channels: tuple[int, ...], strides: tuple[int, ...], height: int, width: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(2, c, height // s, width // s, generator=generator)
        for c, s in zip(channels, strides, strict=True)
    ]  # fmt: skip


def literal(pyramid: Pyramid, maps: list[Tensor], size: tuple[int, int]) -> Tensor:
    """Projected, resized and added up one after the other; then convolved twice."""
    joined = torch.zeros(2, pyramid.channels, *size)
    for lateral, one in zip(pyramid.laterals, maps, strict=True):
        weight, bias = lateral.weight, lateral.bias
        assert isinstance(weight, Tensor) and isinstance(bias, Tensor)
        projected = torch.einsum("oc,bchw->bohw", weight[:, :, 0, 0], one) + bias[:, None, None]
        joined = joined + interpolate(projected, size=size, mode="bilinear", align_corners=False)
    for layer in pyramid.smooth:
        joined = layer(joined)
    return joined


@pytest.mark.parametrize(
    ("strides", "used", "size"),
    [
        ((4, 8, 16, 32), 4, (8, 12)),
        ((2, 4, 8, 16, 32), 4, (8, 12)),  # a map at half the image is not worth its memory
        ((16, 16, 16, 16), 4, (8, 12)),
        ((16, 32), 2, (8, 12)),
    ],
)
def test_it_is_the_literal_sum_at_an_eighth(strides: tuple[int, ...], used: int, size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    channels = tuple(range(3, 3 + len(strides)))
    pyramid, maps = Pyramid(channels, strides, 8).eval(), maps_of(channels, strides, 64, 96)
    seen = pyramid(maps)
    assert seen.shape == (2, 8, *size) and len(pyramid.laterals) == used
    torch.testing.assert_close(seen, literal(pyramid, maps[-used:], size))


def test_a_size_that_eight_does_not_divide_is_rounded_up() -> None:
    pyramid, maps = Pyramid((3, 3), (14, 14), 8), maps_of((3, 3), (14, 14), 42, 28)
    assert pyramid(maps).shape == (2, 8, 6, 4)


def test_every_weight_learns_and_every_map_counts() -> None:
    pyramid, maps = Pyramid((3, 4, 5), (4, 8, 16), 8), maps_of((3, 4, 5), (4, 8, 16), 32, 32)
    for one in maps:
        one.requires_grad_()
    pyramid(maps).square().sum().backward()
    assert all(tensor.grad is not None and tensor.grad.abs().sum() > 0 for tensor in maps)
    assert all(parameter.grad is not None for parameter in pyramid.parameters())


def test_no_image_knows_of_its_neighbours_in_the_batch() -> None:
    """With the usual choices of `norm`: nothing of one domain reaches the other."""
    pyramid, maps = Pyramid((3, 4), (8, 16), 8, norm="frozen", dropout=0.0).train(), maps_of((3, 4), (8, 16), 32, 32)
    torch.testing.assert_close(pyramid(maps)[:1], pyramid([one[:1] for one in maps]))


def test_a_map_of_the_right_size_is_left_as_it_is() -> None:
    features = torch.randn(1, 2, 4, 4)
    assert at_size(features, (4, 4)) is features
    torch.testing.assert_close(at_size(features, (2, 2)), features.view(1, 2, 2, 2, 2, 2).mean((3, 5)))
