"""The warning: silent on what is usual, loud on what is not, and for the right reason."""

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageFilter

from endotransfer.errors import CheckpointError
from endotransfer.familiarity.familiarity import ALARMS, Familiarity, fit_familiarity, warning_of
from endotransfer.familiarity.image_signs import SIGNS
from endotransfer.familiarity.reasons import REASONS, UNLIKE
from tests.familiarity.pictures import CHANNELS, SIZE, Picture, cloud, features_of, fitted


@pytest.fixture(scope="module")
def usual() -> Familiarity:
    return fitted(300)


def blurred(picture: Picture) -> Picture:
    return np.asarray(Image.fromarray(picture).filter(ImageFilter.GaussianBlur(3)))


def noise(picture: Picture) -> Picture:
    return np.random.default_rng(0).integers(0, 256, picture.shape, dtype=np.uint8)


def grey(picture: Picture) -> Picture:
    light: Picture = picture.mean(2, keepdims=True).astype(np.uint8).repeat(3, 2)
    return light


CHANGES: dict[str, Callable[[Picture], Picture]] = {
    "almost black": lambda picture: picture // 50,
    "almost white": lambda picture: 255 - picture // 50,
    "one colour": lambda picture: np.full_like(picture, 128),
    "underexposed": lambda picture: picture // 5,
    "overexposed": lambda picture: np.clip(picture.astype(int) * 2 + 20, 0, 255).astype(np.uint8),
    "noise": noise,
    "blurred": blurred,
    "without colour": grey,
    UNLIKE: lambda picture: picture[..., ::-1],  # blue
}


def test_every_reason_has_its_picture() -> None:
    assert CHANGES.keys() == {*REASONS, UNLIKE}


@pytest.mark.parametrize("reason", CHANGES)
def test_what_is_wrong_is_named(usual: Familiarity, reason: str) -> None:
    for seed in range(100, 104):
        picture = np.ascontiguousarray(CHANGES[reason](cloud(np.random.default_rng(seed))))
        found = usual.assess(picture, features_of(picture))
        assert found.score > 1 and found.reason == reason


def test_few_others_of_the_same_kind_alarm(usual: Familiarity) -> None:
    draw = np.random.default_rng(99)
    found = [usual.assess(one, features_of(one)) for one in (cloud(draw) for _ in range(200))]
    assert sum(one.reason is not None for one in found) <= 10
    assert all((one.reason is None) == (one.score <= 1) for one in found)
    assert usual.held_out == pytest.approx(100 * ALARMS, abs=0.5)


def test_what_only_the_network_sees_is_unlike(usual: Familiarity) -> None:
    picture = cloud(np.random.default_rng(5))
    assert usual.assess(picture, features_of(picture)).reason is None
    assert usual.assess(picture, features_of(picture) + 9).reason == UNLIKE


def test_without_features_pictures_are_still_looked_at() -> None:
    usual = fitted(features=False)
    picture = cloud(np.random.default_rng(5))
    assert usual.assess(picture, None).reason is None
    assert usual.assess(noise(picture), None).reason == "noise"


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e30])
def test_features_that_are_no_numbers_are_left_out(broken: float) -> None:
    signs = np.random.default_rng(0).normal(size=(40, len(SIGNS)))
    features = np.full((40, 3), broken)
    assert fit_familiarity(signs, features, ["a"] * 40, SIZE).features is None


def test_images_of_one_group_are_held_out_together() -> None:
    """Ten near copies of each picture: an image whose copies were fitted would never alarm."""
    draw = np.random.default_rng(0)
    signs = np.repeat(draw.normal(size=(30, len(SIGNS))), 10, axis=0) + draw.normal(0, 1e-3, (300, len(SIGNS)))
    groups = [str(index // 10) for index in range(300)]
    apart = fit_familiarity(signs, None, groups, SIZE).signs_limit
    together = fit_familiarity(signs, None, list(map(str, range(300))), SIZE).signs_limit
    assert apart > 1.3 * together


@pytest.mark.parametrize("features", [None, np.zeros(CHANNELS + 1)])
def test_another_network_is_told(usual: Familiarity, features: np.ndarray | None) -> None:
    with pytest.raises(CheckpointError, match=r"12 features and the network gives (none|13); copy the model again\."):
        usual.assess(cloud(np.random.default_rng(0)), features)


def test_files_say_nothing_where_the_model_cannot_tell(usual: Familiarity) -> None:
    assert warning_of(None) == {}
    black = np.zeros((*SIZE, 3), np.uint8)
    told = warning_of(usual.assess(black, features_of(black)))
    assert told["unfamiliar"] == "almost black" and isinstance(told["unfamiliarity"], float)
