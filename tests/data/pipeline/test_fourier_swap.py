"""The swap of low frequencies against a literal twin: centred spectra, and a loop over the square's frequencies."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.data.pipeline.fourier_swap import partners, swap_low_frequencies
from tests.properties import examples


def literal_swap(source: np.ndarray, target: np.ndarray, beta: float) -> np.ndarray:
    """One channel [H, W]: shift, swap amplitudes one by one, shift back."""
    height, width = source.shape
    mine, other = np.fft.fftshift(np.fft.fft2(source)), np.fft.fftshift(np.fft.fft2(target))
    reach = math.floor(beta * min(height, width))
    for u in range(-reach, reach + 1):
        for v in range(-reach, reach + 1):
            row, column = height // 2 + u, width // 2 + v
            if 0 <= row < height and 0 <= column < width:
                mine[row, column] = abs(other[row, column]) * np.exp(1j * np.angle(mine[row, column]))
    return np.clip(np.fft.ifft2(np.fft.ifftshift(mine)).real, 0, 1)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Two batches [B, 3, H, W] float64, of odd and even sides."""
    shape = (draw(st.integers(1, 2)), 3, draw(st.integers(2, 9)), draw(st.integers(2, 9)))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    source, target = torch.rand((2, *shape), generator=generator, dtype=torch.float64)
    return source, target


@pytest.fixture
def images() -> tuple[Tensor, Tensor]:
    """Soft images away from 0 and 1, so that nothing is clamped."""
    generator = torch.Generator().manual_seed(3)
    source, target = torch.rand((2, 2, 3, 16, 20), generator=generator, dtype=torch.float64)
    return 0.45 + 0.1 * source, 0.5 + 0.1 * target


@given(pairs(), st.sampled_from([0.0, 0.1, 0.2, 0.35]))
@examples(150)
def test_equals_the_literal_twin(batches: tuple[Tensor, Tensor], beta: float) -> None:
    source, target = batches
    expected = [
        [literal_swap(*channels, beta) for channels in zip(*images, strict=True)]
        for images in zip(source.numpy(), target.numpy(), strict=True)
    ]
    np.testing.assert_allclose(swap_low_frequencies(source, target, beta).numpy(), expected, atol=1e-12)


@given(pairs(), st.floats(0, 0.5))
@settings(max_examples=50, deadline=None)
def test_an_image_swapped_with_itself_stays(batches: tuple[Tensor, Tensor], beta: float) -> None:
    source, _ = batches
    torch.testing.assert_close(swap_low_frequencies(source, source, beta), source, rtol=0, atol=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.5])
def test_the_phase_is_kept(images: tuple[Tensor, Tensor], beta: float) -> None:
    source, target = images
    before, after = torch.fft.fft2(source), torch.fft.fft2(swap_low_frequencies(source, target, beta))
    turned = (after * before.conj()).angle().abs()
    assert turned.max() < 1e-8


def test_without_width_only_the_mean_colour_becomes_the_targets(images: tuple[Tensor, Tensor]) -> None:
    source, target = images
    swapped = swap_low_frequencies(source, target, 0.0)
    torch.testing.assert_close(swapped.mean((2, 3)), target.mean((2, 3)))
    centred = source - source.mean((2, 3), keepdim=True)
    torch.testing.assert_close(swapped - swapped.mean((2, 3), keepdim=True), centred)


def test_results_stay_images() -> None:
    checks = (torch.arange(64).view(8, 8) % 2).expand(1, 3, 8, 8).double()  # half 0, half 1
    swapped = swap_low_frequencies(checks, torch.ones_like(checks), 0.0)  # would reach 1.5
    assert (swapped.min().item(), swapped.max().item()) == pytest.approx((0.5, 1.0))


@pytest.mark.parametrize(
    ("given_type", "result"),
    [(torch.bfloat16, torch.float32), (torch.float32, torch.float32), (torch.float64, torch.float64)],
)
def test_precision_is_kept_and_half_precision_raised(
    images: tuple[Tensor, Tensor], given_type: torch.dtype, result: torch.dtype
) -> None:
    source, target = (image.to(given_type) for image in images)
    swapped = swap_low_frequencies(source, target, 0.1)
    assert swapped.dtype == result
    expected = swap_low_frequencies(source.double(), target.double(), 0.1)
    torch.testing.assert_close(swapped.double(), expected, rtol=0, atol=1e-6)


@given(st.integers(1, 3), *(st.integers(low, 4) for low in (0, 0, 1)))
def test_partners_are_the_same_however_many_processes_share_a_batch(
    processes: int, masked: int, tag_only: int, targets: int
) -> None:
    together = partners(processes * masked, processes * tag_only, processes * targets)
    alone = np.array(partners(masked, tag_only, targets), dtype=int)
    offsets = targets * np.arange(processes)[:, None]
    split = [*(alone[:masked] + offsets).flat, *(alone[masked:] + offsets).flat]
    assert together == split


def test_partners_of_equal_batches_are_found_by_index_and_two_kinds_share_the_targets() -> None:
    assert partners(4, 0, 4) == [0, 1, 2, 3]
    assert partners(2, 2, 4) == [0, 2, 1, 3]
    assert partners(4, 0, 2) == [0, 0, 1, 1]
