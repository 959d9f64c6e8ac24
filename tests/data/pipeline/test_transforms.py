"""One geometry for an image and its maps, decided by the seed alone."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from endotransfer.batch import IGNORE
from endotransfer.config import AugmentConfig
from endotransfer.data.pipeline.random_change import Window, draw_change
from endotransfer.data.pipeline.transforms import REGIONS, augment_image, warp_map
from tests.properties import examples

HEIGHT, WIDTH = 40, 56
NOTHING = AugmentConfig(flip_horizontal=False, flip_vertical=False)
FLIPS = AugmentConfig()
SEEDS = range(24)

augments = st.builds(
    AugmentConfig,
    flip_horizontal=st.booleans(),
    flip_vertical=st.booleans(),
    scale=st.tuples(st.floats(0.3, 1), st.floats(1, 4)),
    crop=st.none() | st.tuples(st.integers(32, HEIGHT), st.integers(32, WIDTH)),
)


def altered(settings: AugmentConfig, **changes: object) -> AugmentConfig:
    """Unchecked, so that crops may be as small as these images need them."""
    return settings.model_copy(update=changes)


def count(values: Tensor) -> int:
    """How many different values there are."""
    return len(set(values.flatten().tolist()))


@pytest.fixture
def picture() -> Tensor:
    return torch.randint(0, 256, (3, HEIGHT, WIDTH), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def coordinates() -> tuple[Tensor, Tensor]:
    """(image whose red and green are 4 x and 4 y + 20, map of 64 y + x)."""
    y, x = torch.meshgrid(torch.arange(HEIGHT), torch.arange(WIDTH), indexing="ij")
    return torch.stack([4 * x, 4 * y + 20, torch.full_like(x, 255)]).byte(), (64 * y + x).int()


@examples(100)
@given(augment=augments, seed=st.integers(0, 2**63 - 1))
def test_image_and_maps_move_together(augment: AugmentConfig, seed: int) -> None:
    image, places = coordinates()
    maps = {REGIONS: places, "mask": torch.zeros(HEIGHT, WIDTH, dtype=torch.uint8)}
    image, maps = augment_image(augment, image, maps, seed)
    inside = maps["mask"] != IGNORE
    clear = inside & (image[2] == 255)  # not mixed with the black outside by interpolation
    x, y = (maps[REGIONS] % 64)[clear], (maps[REGIONS] // 64)[clear]
    # Nearest takes the pixel at the centre and bilinear averages around it: up to a pixel of the coarser grid apart.
    coarse = max(1.0, 1 / augment.scale[0])
    assert (image[0][clear].int() - 4 * x).abs().max() <= 4 * coarse + 1
    assert (image[1][clear].int() - 20 - 4 * y).abs().max() <= 4 * coarse + 1
    assert (image[2][~inside] < 255).all()
    assert (maps[REGIONS][~inside] == int(places.max()) + 1).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_flips_are_exact(picture: Tensor, seed: int) -> None:
    image, maps = augment_image(FLIPS, picture, {"mask": picture[0], REGIONS: picture[1].int()}, seed)
    views = [picture.flip(axes) for axes in ((), (1,), (2,), (1, 2))]
    [match] = [view for view in views if torch.equal(view, image)]
    assert torch.equal(maps["mask"], match[0])
    assert torch.equal(maps[REGIONS], match[1].int())
    assert maps[REGIONS].dtype == torch.int32


def test_all_four_flips_happen_and_a_forbidden_one_never(picture: Tensor) -> None:
    def seen(augment: AugmentConfig) -> int:
        return len({augment_image(augment, picture, {}, seed)[0].numpy().tobytes() for seed in SEEDS})

    assert seen(FLIPS) == 4
    assert seen(altered(FLIPS, flip_vertical=False)) == seen(altered(FLIPS, flip_horizontal=False)) == 2
    assert seen(NOTHING) == 1


@pytest.mark.parametrize("size", [(HEIGHT, WIDTH), (16, 24)])
@pytest.mark.parametrize("window", [Window(-6, 3, 30, 20, False, True), Window(-9, -9, 60, 80, True, False)])
def test_a_map_under_a_window_equals_the_literal_rule(window: Window, size: tuple[int, int]) -> None:
    _, places = coordinates()
    expected = torch.full(size, IGNORE, dtype=places.dtype)
    for row in range(size[0]):
        for column in range(size[1]):
            # The window's pixel whose square holds the centre of the new pixel.
            y = window.top + int((row + 0.5) * window.height / size[0])
            x = window.left + int((column + 0.5) * window.width / size[1])
            if 0 <= y < HEIGHT and 0 <= x < WIDTH:
                expected[row, column] = places[y, x]
    expected = expected.flip([1] if window.mirror else []).flip([0] if window.upend else [])
    assert torch.equal(warp_map(places, window, size, "mask"), expected)


def test_scale_shows_less_or_more_of_the_image() -> None:
    _, places = coordinates()
    near, far = altered(NOTHING, scale=(2.0, 2.0)), altered(NOTHING, scale=(0.5, 0.5))
    for seed in SEEDS:
        zoomed = augment_image(near, torch.zeros(3, HEIGHT, WIDTH).byte(), {REGIONS: places}, seed)[1][REGIONS]
        assert count(zoomed) == places.numel() / 4
        ones = {"mask": torch.ones(HEIGHT, WIDTH).byte()}
        mask = augment_image(far, torch.zeros(3, HEIGHT, WIDTH).byte(), ones, seed)[1]["mask"]
        assert (mask == 1).sum() == pytest.approx(places.numel() / 4, rel=0.1)
        assert set(mask.flatten().tolist()) == {1, IGNORE}


def test_a_crop_is_a_part_of_the_image_pixel_for_pixel_and_lies_anywhere(picture: Tensor) -> None:
    crop, tops = altered(NOTHING, crop=(16, 24)), set()
    for seed in SEEDS:
        image, maps = augment_image(crop, picture, {"mask": picture[0], REGIONS: picture[1].int()}, seed)
        window = draw_change(crop, HEIGHT, WIDTH, seed).window
        part = picture[:, window.top : window.top + 16, window.left : window.left + 24]
        assert torch.equal(image, part)
        assert torch.equal(maps["mask"], part[0])
        assert torch.equal(maps[REGIONS], part[1].int())
        tops.add(window.top)
    assert len(tops) > 10 and min(tops) >= 0 and max(tops) <= HEIGHT - 16


def test_a_crop_after_zooming_shows_as_much_less_of_the_image() -> None:
    _, places = coordinates()
    for seed in SEEDS[:6]:
        augment = altered(NOTHING, crop=(20, 28), scale=(2.0, 2.0))
        seen = augment_image(augment, torch.zeros(3, HEIGHT, WIDTH).byte(), {REGIONS: places}, seed)[1][REGIONS]
        assert seen.shape == (20, 28)
        assert count(seen) == 10 * 14


def test_photometry_leaves_maps_and_geometry_alone(picture: Tensor) -> None:
    maps = {"mask": picture[0], REGIONS: picture[1].int()}
    plain = altered(FLIPS, scale=(0.5, 2.0))
    for seed in SEEDS[:8]:
        loud = augment_image(altered(plain, colour=0.5, blur=1.0), picture, maps, seed)
        quiet = augment_image(plain, picture, maps, seed)
        assert not torch.equal(loud[0], quiet[0])
        assert all(torch.equal(loud[1][name], quiet[1][name]) for name in maps)
        assert loud[0].dtype == torch.uint8
        assert loud[0].shape == picture.shape


def test_blur_happens_as_often_as_asked(picture: Tensor) -> None:
    settings = altered(NOTHING, blur=0.3)
    changed = [not torch.equal(augment_image(settings, picture, {}, seed)[0], picture) for seed in range(100)]
    assert 15 <= sum(changed) <= 45


def test_the_seed_decides_and_nothing_else_is_drawn(picture: Tensor) -> None:
    augment = AugmentConfig(scale=(0.5, 2.0), colour=0.3, blur=0.5)
    before = torch.get_rng_state()
    first = augment_image(augment, picture, {"mask": picture[0]}, 5)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(10)
    second = augment_image(augment, picture, {"mask": picture[0]}, 5)
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1]["mask"], second[1]["mask"])
    assert not torch.equal(first[0], augment_image(augment, picture, {}, 6)[0])


def test_the_input_is_not_written_to(picture: Tensor) -> None:
    before = picture.clone()
    for seed in SEEDS:
        augment_image(AugmentConfig(scale=(0.5, 2.0), colour=0.3, blur=0.5), picture, {"mask": picture[0]}, seed)
    assert torch.equal(picture, before)


@pytest.mark.parametrize("shape", [(1, 9), (7, 2)])
def test_tiny_images_survive_everything(shape: tuple[int, int]) -> None:
    augment = AugmentConfig(scale=(0.2, 5.0), colour=1.0, blur=1.0)
    for seed in SEEDS:
        image, maps = augment_image(augment, torch.ones(3, *shape).byte(), {"mask": torch.zeros(shape).byte()}, seed)
        assert image.shape == (3, *shape)
        assert maps["mask"].shape == shape
