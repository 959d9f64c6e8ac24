"""Which pixels are shown in the feature figure, and the number beside it."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.errors import DataError
from endotransfer.report.tsne import POINTS, agreement, at_grid, choose_points


@pytest.fixture
def masked(tmp_path: Path) -> list[Sample]:
    """Sixty images of 64 pixels whose left half is a lesion."""
    samples = []
    for number in range(60):
        image, mask = tmp_path / f"{number}.png", tmp_path / f"{number}-mask.png"
        Image.fromarray(np.zeros((64, 64, 3), np.uint8)).save(image)
        half = np.zeros((64, 64), np.uint8)
        half[:, :32] = 255
        Image.fromarray(half).save(mask)
        samples.append(Sample(f"set/{number}", image, mask))
    return samples


def test_the_grid_takes_the_middle_of_each_cell() -> None:
    mask = np.arange(64, dtype=np.uint8).reshape(8, 8)
    assert at_grid(mask, (2, 2)).tolist() == [[18, 22], [50, 54]]


def test_classes_are_equally_many_and_pixels_are_of_the_class_they_say(masked: list[Sample]) -> None:
    points = choose_points(masked, "source", Classes(), (64, 64))
    classes = np.concatenate([one.classes for one in points])
    assert np.bincount(classes).tolist() == [POINTS // 4, POINTS // 4]
    assert all(((one.columns < 4) == (one.classes == 1)).all() for one in points)
    assert len(points) > 10


def test_the_choice_does_not_depend_on_the_order_of_the_images(masked: list[Sample]) -> None:
    one, other = (choose_points(some, "source", Classes(), (64, 64)) for some in (masked, masked[::-1]))
    assert [points.sample.key for points in one] == [points.sample.key for points in other]
    assert all((a.rows == b.rows).all() for a, b in zip(one, other, strict=True))


def test_images_without_masks_are_told() -> None:
    with pytest.raises(DataError, match="no target image has a mask"):
        choose_points([Sample("a", Path("a.png"))], "target", Classes(), (64, 64))


def test_agreement_is_the_share_of_target_pixels_that_lie_with_their_class() -> None:
    source, classes = [[0.0], [0.1], [9.0], [9.1]] * 10, [0, 0, 1, 1] * 10
    target = [[0.05], [9.05], [0.02], [0.03]]  # the third says lesion and lies with normal
    features = np.array(source + target, np.float32)
    labels = np.array([*classes, 0, 1, 1, 0], np.uint8)
    assert agreement(features, ["source"] * 40 + ["target"] * 4, labels) == pytest.approx(75.0)
