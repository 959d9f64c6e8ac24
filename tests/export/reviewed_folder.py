"""A folder with decisions of every kind, and its masks as they were drawn."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.review_record import Decision, Review
from endotransfer.data.folders.reviewed import restore_review, write_review

Mask = NDArray[np.uint8]
SIZE = (40, 56)
WHEN = "2026-11-18T07:00:00.000000+00:00"


def picture(seed: int, size: tuple[int, int] = SIZE) -> Mask:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def ring(size: tuple[int, int] = SIZE) -> Mask:
    """A lesion with a hole, and a speck of one pixel in the last corner."""
    y, x = np.mgrid[: size[0], : size[1]]
    far = (y - 18) ** 2 + (x - 20) ** 2
    mask: Mask = ((far < 150) & (far > 20)).astype(np.uint8)
    mask[-1, -1] = 1
    return mask


def unsure(size: tuple[int, int] = SIZE) -> Mask:
    mask = ring(size)
    mask[:6, :30] = 255
    return mask


def decide(folder: Path, name: str, mask: Mask, decision: Decision = "corrected", who: str = "Dr. Müller") -> None:
    write_review(folder, name, Review(decision, who, WHEN, "robust", "0.1.0", threshold=None), mask)


def build(folder: Path) -> dict[str, Mask]:
    """The folder, and the masks that an export must hold."""
    (folder / "images").mkdir(parents=True)
    names = ("a ring", "b-normal", "c-unsure", "d-rejected", "e-taken-back", "f-open")
    for seed, name in enumerate(names):
        Image.fromarray(picture(seed)).save(folder / "images" / f"{name}.png")
    rows = "".join(f"{name},{label},p{row // 2},test\n" for row, (name, label) in enumerate(
        zip(names, ("lesion", "lesion", "lesion", "lesion", "normal", ""), strict=True)
    ))  # fmt: skip
    (folder / "labels.csv").write_text(f"image,label,patient,split\n{rows}")
    drawn = {"a ring": ring(), "b-normal": np.zeros(SIZE, np.uint8), "c-unsure": unsure()}
    decide(folder, "a ring", np.zeros(SIZE, np.uint8), "accepted", who="first")
    for name, mask in drawn.items():
        decide(folder, name, mask)
    decide(folder, "d-rejected", np.full(SIZE, 255, np.uint8), "rejected")
    decide(folder, "e-taken-back", ring())
    restore_review(folder, "e-taken-back", None, who="Dr. Müller", when=WHEN, version="0.1.0")
    return drawn
