"""A mask goes to the image of its name, and never to another patient's."""

from pathlib import Path

import pytest

from endotransfer.data.importers.mask_index import MaskIndex


def index(*masks: str, suffix: str = "") -> MaskIndex:
    return MaskIndex([(Path(mask), Path("/masks") / mask) for mask in masks], suffix)


@pytest.mark.parametrize(
    ("mask", "image", "alone", "found"),
    [
        ("a.png", "a.jpg", True, True),
        ("A.PNG", "a.jpg", True, True),
        ("a_mask.png", "a.jpg", True, True),
        ("A_Segmentation.png", "a.jpg", True, True),
        ("a mask.png", "a.jpg", True, True),
        ("a.mask.png", "a.jpg", True, True),
        ("amask.png", "a.jpg", True, False),
        ("P1/a.png", "P1/a.jpg", False, True),
        ("Masken/P1/a.png", "Bilder/P1/a.jpg", False, True),
        ("P1/masks/a.png", "P1/images/a.jpg", False, True),
        ("a.png", "P1/a.jpg", True, True),  # a flat folder of masks
        ("a.png", "P1/a.jpg", False, False),  # another image is called so
        ("P2/a.png", "P1/a.jpg", True, False),  # perhaps another patient's
        ("2024/P1/a.png", "2024/P1/colon/a.jpg", True, True),  # less deep
        ("2024/P1/drawn/a.png", "P1/a.jpg", True, True),  # deeper
        ("2024/P1/a.png", "2024/P1/colon/a.jpg", False, False),
        ("2024/P2/a.png", "2024/P1/colon/a.jpg", True, False),
        ("P1/2024/a.png", "2024/P1/a.jpg", True, False),
        ("ab.png", "a.jpg", True, False),
    ],
)
def test_a_mask_is_found_where_it_must_be_meant(mask: str, image: str, alone: bool, found: bool) -> None:
    masks = index(mask)
    assert masks.find(Path(image), alone=alone) == (Path("/masks") / mask if found else None)
    assert bool(masks.left) is not found


def test_a_suffix_that_was_named_is_not_guessed() -> None:
    masks = index("a_x.png", "b.png", suffix="_x")
    assert masks.find(Path("a.jpg"), alone=True) == Path("/masks/a_x.png")
    assert masks.find(Path("b.jpg"), alone=True) is None
    assert masks.guessed == set()


def test_an_ending_that_nobody_guesses_is_told() -> None:
    masks = index("a_b_Drawn.png", "a_drawn.png", "ab.png", "c_drawn.png")
    assert masks.find(Path("a_b.jpg"), alone=True) is masks.find(Path("a.jpg"), alone=True) is None
    assert [masks.ending(mask) for mask in masks.left] == ["_drawn", "_drawn", "", ""]


def test_two_masks_of_one_name_are_named() -> None:
    assert index("a.png", "a.tif").doubles == [(Path("/masks/a.tif"), Path("/masks/a.png"))]
