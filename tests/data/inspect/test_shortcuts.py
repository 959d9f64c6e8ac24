"""What tells tags apart beside the tissue is said; what does not is not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.inspect import Inspection, inspect_folder
from endotransfer.data.inspect.shortcuts import separation

Photo = Callable[[int], NDArray[np.uint8]]
Change = Callable[[Image.Image], Image.Image]


def inspected(folder: Path, photo: Photo, change: Change, ending: str = "png", each: int = 6) -> Inspection:
    """`each` lesion images, changed, and `each` normal ones as they are."""
    (folder / "images").mkdir(parents=True)
    rows = ["image,label,patient"]
    for n in range(2 * each):
        image, lesion = Image.fromarray(photo(n)), n < each
        (change(image) if lesion else image).save(folder / "images" / f"i{n}.{ending if lesion else 'png'}")
        rows.append(f"i{n},{'lesion' if lesion else 'normal'},p{n}")
    (folder / "labels.csv").write_text("\n".join(rows))
    return inspect_folder(folder)


def framed(image: Image.Image) -> Image.Image:
    large = Image.new("RGB", image.size)
    large.paste(image.resize((image.width // 2, image.height // 2)), (16, 12))
    return large


SIGNS: dict[str, tuple[Change, str, list[str]]] = {
    "larger": (
        lambda image: image.resize((128, 96)),
        "png",
        ["the size in pixels alone (AUROC 1.00; median 1.229e+04"],
    ),
    "wider": (lambda image: image.resize((96, 32)), "png", ["the aspect ratio alone (AUROC 1.00; median 3 for lesion"]),
    "framed": (framed, "png", ["the black frame", "the brightness"]),
    "darker": (lambda image: image.point(lambda v: int(v * 0.5)), "png", ["the brightness (0 to 255) alone"]),
    "jpeg": (lambda image: image, "jpg", ["the file format alone (AUROC 1.00; mostly JPEG for lesion and PNG for nor"]),
    "alike": (lambda image: image, "png", []),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_what_betrays_the_tag_is_said(tmp_path: Path, photo: Photo, sign: str) -> None:
    change, ending, expected = SIGNS[sign]
    said = [note.what for note in inspected(tmp_path / "set", photo, change, ending).cautions]
    assert len(said) == len(expected)
    for sentence, part in zip(said, sorted(expected), strict=True):
        assert part in sentence and sentence.startswith("the tag can be told by")


def test_a_few_images_prove_nothing(tmp_path: Path, photo: Photo) -> None:
    assert inspected(tmp_path / "set", photo, lambda image: image.resize((128, 96)), each=4).cautions == []


def test_tags_of_one_kind_are_said(make_folder: Callable[..., Path]) -> None:
    folder = make_folder(labels="image,label,patient\na,lesion,1\nb,lesion,2\nc,,3\n")
    (caution,) = inspect_folder(folder).cautions
    assert caution.what.startswith("all 2 tags are lesion")


def test_separation_is_the_share_of_pairs_in_order() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 6, 20).tolist(), generator.integers(0, 5, 15).tolist()
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in first for b in second]
    assert separation(first, second) == pytest.approx(sum(pairs) / len(pairs))
