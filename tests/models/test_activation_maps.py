"""Class activation maps against their definition, cell by cell."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from endotransfer.batch import LESION, NORMAL
from endotransfer.models.activation_maps import activation_over_scales, lesion_activation, normalised, rescaled
from endotransfer.models.heads import TagHead


def literal_normalised(cells: list[float]) -> list[float]:
    positive = [max(0.0, cell) for cell in cells]
    low, high = min(positive), max(positive)
    return [(cell - low) / max(high - low, 1e-5) for cell in positive]


def brightness(images: Tensor) -> Tensor:
    """An activation of a quarter of the image's size, to the left of what it sees: not symmetric."""
    small = interpolate(images, scale_factor=0.25, mode="bilinear", align_corners=False)[:, 0] - 0.5
    return small + torch.linspace(0, 1, small.shape[-1])


def test_the_map_is_the_layer_cell_by_cell_and_its_mean_is_the_image_s_answer() -> None:
    torch.manual_seed(0)
    head, features = TagHead(6), torch.randn(2, 6, 3, 4)
    found = lesion_activation(head, features)
    for image in range(2):
        for row in range(3):
            for column in range(4):
                logits = head.linear(features[image, :, row, column])
                expected = (logits[LESION] - logits[NORMAL]).item()
                assert found[image, row, column].item() == pytest.approx(expected, abs=1e-5)
    answer = head(features)
    torch.testing.assert_close(found.mean((1, 2)), answer[:, LESION] - answer[:, NORMAL])


def test_normalisation_is_the_literal_one() -> None:
    maps = torch.randn(5, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    maps[1] += 5  # all positive: the least of them counts as nothing
    maps[2] -= 50  # all negative: nothing is found
    maps[3] = 2.0  # the same everywhere
    for found, cells in zip(normalised(maps), maps, strict=True):
        assert found.flatten().tolist() == pytest.approx(literal_normalised(cells.flatten().tolist()))
    assert normalised(maps[:2]).amax((1, 2)).tolist() == [1, 1]
    assert not normalised(maps[2:4]).any()


def test_scales_and_orientations_are_averaged_in_the_image_s_own_frame() -> None:
    images = torch.rand(2, 3, 16, 24, generator=torch.Generator().manual_seed(0))
    parts = []
    for scale in (0.5, 1.0, 1.5):
        sized = rescaled(images, scale)
        assert sized.shape[-2:] == (16 * scale, 24 * scale)
        for mirrored in (False, True):
            found = brightness(sized.flip(-1) if mirrored else sized).relu()
            found = found.flip(-1) if mirrored else found
            parts.append(interpolate(found[:, None], size=(16, 24), mode="bilinear", align_corners=False)[:, 0])
    found = activation_over_scales(brightness, images, (0.5, 1.0, 1.5))
    torch.testing.assert_close(found, torch.stack(parts).mean(0))
    other_way = activation_over_scales(brightness, images.flip(-1), (0.5, 1.0, 1.5))
    torch.testing.assert_close(other_way.flip(-1), found)  # a mirrored image has the mirrored map
