"""Strong augmentation of a batch on its device: as the loader's own, image by image."""

import math

import pytest
import torch
from torch import Tensor

from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.colour_change import blurred
from endotransfer.data.pipeline.random_change import draw_change
from endotransfer.data.pipeline.strong_change import blurred_batch, strongly_changed
from endotransfer.data.pipeline.transforms import augment_image


@pytest.fixture
def images() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (6, 3, 32, 40), generator=generator, dtype=torch.uint8).double() / 255


def literal_blur(image: Tensor, sigma: float) -> list[list[float]]:
    """One colour [H, W]: for each pixel a weighted mean of its neighbourhood, mirrored at the border."""
    height, width = image.shape
    radius = math.ceil(3 * sigma)
    weights = {at: math.exp(-(at**2) / (2 * sigma**2)) for at in range(-radius, radius + 1)}
    whole = sum(weights.values()) ** 2

    def mirrored(at: int, length: int) -> int:
        at = abs(at)
        return at if at < length else 2 * (length - 1) - at

    return [
        [
            sum(
                weights[dy] * weights[dx] * float(image[mirrored(y + dy, height), mirrored(x + dx, width)])
                for dy in weights
                for dx in weights
            )
            / whole
            for x in range(width)
        ]
        for y in range(height)
    ]


def test_a_batch_is_blurred_as_its_images_are_by_themselves(images: Tensor) -> None:
    sigmas = [0.3, None, 1.5, 0.7, None, 1.0]
    found = blurred_batch(images, sigmas)
    for image, sigma, result in zip(images, sigmas, found, strict=True):
        expected = image if sigma is None else blurred(image, sigma)
        torch.testing.assert_close(result, expected, rtol=0, atol=1e-6)  # torchvision's weights are float32
    small = images[:1, :, :7, :8]
    expected = torch.tensor(literal_blur(small[0, 0], 1.1), dtype=torch.float64)
    torch.testing.assert_close(blurred_batch(small, [1.1])[0, 0], expected)


def test_an_image_is_changed_as_the_loader_would_by_the_same_seed(images: Tensor) -> None:
    settings = AugmentConfig(flip_horizontal=False, flip_vertical=False, colour=0.25, blur=0.5)
    seeds = range(6)
    found = strongly_changed(images, 0.25, 0.5, seeds)
    for image, seed, result in zip(images, seeds, found, strict=True):
        expected, _ = augment_image(settings, (255 * image).round().byte(), {}, seed)
        assert (255 * result - expected).abs().max() <= 1.5  # which rounds twice
    assert {draw_change(settings, 32, 40, seed).sigma is None for seed in seeds} == {True, False}
    assert (found - images).abs().mean((1, 2, 3)).min() > 0.01


def test_without_strength_nothing_changes_and_results_stay_images(images: Tensor) -> None:
    torch.testing.assert_close(strongly_changed(images, 0.0, 0.0, range(6)), images, rtol=0, atol=1e-6)
    strong = strongly_changed(images, 1.0, 0.0, range(6))
    assert strong.min() >= 0 and strong.max() <= 1


def test_half_precision_does_not_reach_images(images: Tensor) -> None:
    single = images.float()
    with torch.autocast("cpu", torch.bfloat16):
        found = strongly_changed(single, 0.25, 0.5, range(6))
    assert torch.equal(found, strongly_changed(single, 0.25, 0.5, range(6)))
