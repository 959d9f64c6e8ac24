"""Miniatures of the public sets, laid out and named exactly as published."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

SIZE = (24, 40)
Mask = NDArray[np.bool_]


class Draw:
    """Tiny photographs and masks."""

    size = SIZE

    def blob(self, top: int = 5, left: int = 9, height: int = 11, width: int = 18) -> Mask:
        """A lesion whose edges cut through JPEG's 8x8 blocks, so that compression leaves noise."""
        mask = np.zeros(SIZE, bool)
        mask[top : top + height, left : left + width] = True
        return mask

    def pixels(self, path: Path, pixels: NDArray[np.uint8]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        options: dict[str, Any] = {"quality": 90} if path.suffix == ".jpg" else {}
        Image.fromarray(pixels).save(path, **options)

    def photo(self, path: Path) -> None:
        seed = sum(map(ord, path.name))
        self.pixels(path, np.random.default_rng(seed).integers(0, 256, (*SIZE, 3), np.uint8))

    def mask(self, path: Path, mask: Mask) -> None:
        self.pixels(path, np.where(mask, 255, 0).astype(np.uint8))


@pytest.fixture
def draw() -> Draw:
    return Draw()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "download"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "native"


@pytest.fixture
def miniature(source: Path, draw: Draw) -> Callable[[str], Path]:
    """`miniature("kvasir-seg")`: what is imported, for most sets the folder into which a tiny copy was unpacked."""

    def make(name: str) -> Path:
        MINIATURES[name](source, draw)
        return source / "Befunde.csv" if name == "table" else source

    return make


@pytest.fixture
def plain(miniature: Callable[[str], Path]) -> Path:
    """A lesion (p01) and a normal image (p02) with their masks."""
    return miniature("folders")


def names(folder: Path) -> list[str]:
    """The images that the table of an imported folder lists."""
    with (folder / "labels.csv").open(newline="") as file:
        return [row["image"] for row in csv.DictReader(file)]


def kvasir_seg(source: Path, draw: Draw) -> None:
    for number, name in enumerate(["cju0qkwl35piu0993l0dewei2", "cju0qoxqj9q6s0835b43399p4"]):
        draw.photo(source / "Kvasir-SEG" / "images" / f"{name}.jpg")
        draw.mask(source / "Kvasir-SEG" / "masks" / f"{name}.jpg", draw.blob(left=number))
    (source / "Kvasir-SEG" / "kavsir_bboxes.json").write_text("{}")
    (source / "Kvasir-SEG" / "images" / "._cju0qkwl35piu0993l0dewei2.jpg").write_bytes(b"left by an archive programme")


def cvc_clinicdb(source: Path, draw: Draw) -> None:
    for name in ("1", "2", "26", "612"):
        draw.photo(source / "CVC-ClinicDB" / "Original" / f"{name}.tif")
        draw.mask(source / "CVC-ClinicDB" / "Ground Truth" / f"{name}.tif", draw.blob())


def cvc_colondb(source: Path, draw: Draw) -> None:
    for name in ("1", "2", "10"):
        draw.photo(source / "CVC-ColonDB" / "images" / f"{name}.png")
        draw.mask(source / "CVC-ColonDB" / "masks" / f"{name}.png", draw.blob())


def etis_larib(source: Path, draw: Draw) -> None:
    for name in ("1", "2", "10"):
        draw.photo(source / "ETIS-LaribPolypDB" / "ETIS-LaribPolypDB" / f"{name}.tif")
        draw.mask(source / "ETIS-LaribPolypDB" / "Ground Truth" / f"p{name}.tif", draw.blob(left=int(name)))


def polypgen(source: Path, draw: Draw) -> None:
    root = source / "PolypGen2021_MultiCenterData_v3"
    frames = {
        "C1": "100H0050",
        "C2": "EndoCV2021_001000",
        "C3": "C3_EndoCV2021_00489_",
        "C4": "2_endocv2021_positive_1059",
        "C5": "EndoCV2021_C5_0100001",
        "C6": "EndoCV2021_C6_0100001",
    }
    for centre, name in frames.items():
        draw.photo(root / f"data_{centre}" / f"images_{centre}" / f"{name}.jpg")
        draw.mask(root / f"data_{centre}" / f"masks_{centre}" / f"{name.rstrip('_')}_mask.jpg", draw.blob())
    draw.photo(root / "data_C1" / "images_C1" / "100S0001.jpg")
    draw.mask(root / "data_C1" / "masks_C1" / "100S0001_mask.jpg", np.zeros(SIZE, bool))
    positive = root / "sequenceData" / "positive" / "seq2"
    draw.photo(positive / "images_seq2" / "0_endocv2021_positive_167.jpg")
    draw.mask(positive / "masks_seq2" / "0_endocv2021_positive_167_mask.jpg", draw.blob())
    (positive / "masks_seq2" / "0_endocv2021_positive_167_mask.txt").write_text("polyp 1 2 3 4")
    draw.photo(root / "sequenceData" / "negativeOnly" / "seq1_neg" / "seq1_neg_endocv2021_0001.jpg")
    (root / "sequenceData" / "negativeOnly" / ".DS_Store").write_text("")


def edd2020(source: Path, draw: Draw) -> None:
    root = source / "EDD2020_release-I_2020-01-15"
    draw.photo(root / "originalImages" / "EDD2020_ACB0001.jpg")
    draw.mask(root / "masks" / "EDD2020_ACB0001_BE.tif", draw.blob(top=2, height=12))
    draw.mask(root / "masks" / "EDD2020_ACB0001_suspicious.tif", draw.blob(top=9, height=12))
    draw.photo(root / "originalImages" / "EDD2020_AJ0012.jpg")
    draw.mask(root / "masks" / "EDD2020_AJ0012_polyp.tif", draw.blob())
    (root / "bbox").mkdir()
    (root / "bbox" / "EDD2020_AJ0012.txt").write_text("1 2 3 4 polyp")
    (root / "class_list.txt").write_text("BE\nsuspicious\nHGD\ncancer\npolyp\n")


def wcebleedgen(source: Path, draw: Draw) -> None:
    root = source / "WCEBleedGen"
    for number in (1, 2):
        draw.photo(root / "bleeding" / "Images" / f"img- ({number}).png")
        draw.mask(root / "bleeding" / "Annotations" / f"ann- ({number}).png", draw.blob(left=number))
        draw.photo(root / "non-bleeding" / "images" / f"img- ({number}).png")
        draw.mask(root / "non-bleeding" / "annotation" / f"ann- ({number}).png", np.zeros(SIZE, bool))


def hyperkvasir(source: Path, draw: Draw) -> None:
    labelled = source / "labeled-images"
    upper, lower = labelled / "upper-gi-tract", labelled / "lower-gi-tract"
    draw.photo(upper / "anatomical-landmarks" / "z-line" / "001dcfa9-0cac-4b07-9cec-bc70944cd4d3.jpg")
    draw.photo(upper / "pathological-findings" / "barretts" / "0033588e-ae3b-4cc0-aa8e-2ac34857c9cb.jpg")
    draw.photo(lower / "quality-of-mucosal-views" / "bbps-2-3" / "018fc250-a81a-41c0-83af-0521dc455d26.jpg")
    draw.photo(lower / "therapeutic-interventions" / "dyed-lifted-polyps" / "85197c0f-d40e-42c1-ac1d-f4167acd3e2c.jpg")
    (labelled / "image-labels.csv").write_text("Video file,Organ,Finding,Classification\n")
    segmented = source / "segmented-images"
    draw.photo(segmented / "images" / "cju0qkwl35piu0993l0dewei2.jpg")
    draw.mask(segmented / "masks" / "cju0qkwl35piu0993l0dewei2.jpg", draw.blob())
    (segmented / "bounding-boxes.json").write_text("{}")


def coco(source: Path, draw: Draw) -> None:
    for name in ("a.png", "ward/b.png", "c.png"):
        draw.photo(source / "images" / name)
    runs = [30, 4, SIZE[0] * SIZE[1] - 34]
    content = {
        "images": [{"id": n, "file_name": name} for n, name in enumerate(("a.png", "ward/b.png", "c.png"))],
        "categories": [{"id": 7, "name": "polyp"}, {"id": 3, "name": "ulcer"}],
        "annotations": [
            {"id": 1, "image_id": 0, "category_id": 7, "segmentation": [[2, 3, 10, 3, 10, 8, 2, 8]]},
            {"id": 2, "image_id": 0, "category_id": 3, "segmentation": [[8, 5, 14, 5, 14, 9, 8, 9]]},
            {"id": 3, "image_id": 1, "category_id": 3, "segmentation": {"size": list(SIZE), "counts": runs}},
        ],
    }
    (source / "annotations").mkdir()
    (source / "annotations" / "instances.json").write_text(json.dumps(content))


def folders(source: Path, draw: Draw) -> None:
    for name in ("p01", "p02"):
        draw.photo(source / "images" / f"{name}.bmp")
    draw.mask(source / "masks" / "p01.png", draw.blob())
    draw.mask(source / "masks" / "p02.png", np.zeros(SIZE, bool))


def table(source: Path, draw: Draw) -> None:
    for name in ("P1/a.jpg", "P1/b.jpg", "P2/a.jpg"):
        draw.photo(source / "Bilder" / name)
    draw.mask(source / "Masken" / "P2" / "a.png", draw.blob())
    rows = ["Dateiname;Befund;Patient_ID", "a.JPG;1;P1", "b.JPG;unauffällig;P1", "P2\\a.JPG;ja;P2"]
    (source / "Befunde.csv").write_text("\r\n".join(rows), encoding="cp1252")


MINIATURES: dict[str, Callable[[Path, Draw], None]] = {
    "coco": coco,
    "cvc-clinicdb": cvc_clinicdb,
    "cvc-colondb": cvc_colondb,
    "edd2020": edd2020,
    "etis-larib": etis_larib,
    "folders": folders,
    "hyperkvasir": hyperkvasir,
    "kvasir-seg": kvasir_seg,
    "polypgen": polypgen,
    "table": table,
    "wcebleedgen": wcebleedgen,
}
