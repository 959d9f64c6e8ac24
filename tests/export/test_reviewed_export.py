"""Reviewed masks leave as native layout and COCO, and independent readers find the same pixels and the same people."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.importers import import_dataset
from endotransfer.data.inspect import inspect_folder
from endotransfer.data.read.read_mask import read_mask
from endotransfer.errors import ConfigError, DataError
from endotransfer.export.reviewed import FORMS, export_reviewed
from tests.export.reviewed_folder import Mask, build, decide, ring


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "study"


def coco_masks(out: Path, names: int = 1) -> dict[str, Mask]:
    """Image -> mask as pycocotools draws it: category ids, 255 for crowds."""
    tools = pytest.importorskip("pycocotools.coco")
    content = tools.COCO(str(out / "annotations.json"))
    found = {}
    for image in content.dataset["images"]:
        mask = np.zeros((image["height"], image["width"]), np.uint8)
        for annotation in content.imgToAnns[image["id"]]:
            region = content.annToMask(annotation) == 1
            assert not mask[region].any()  # every pixel is in one annotation
            mask[region] = 255 if annotation["iscrowd"] else annotation["category_id"]
        found[Path(image["file_name"]).stem] = mask
    return found


def test_coco_holds_the_reviewed_masks_and_who_made_them(folder: Path, tmp_path: Path) -> None:
    drawn = build(folder)
    report = export_reviewed(folder, "coco", tmp_path / "out")
    masks = coco_masks(tmp_path / "out")
    assert masks.keys() == drawn.keys()
    assert all(np.array_equal(masks[name], drawn[name]) for name in drawn)
    content = json.loads((tmp_path / "out/annotations.json").read_text())
    assert {one["attributes"]["who"] for one in content["annotations"]} == {"Dr. Müller"}
    assert [one["review"]["number"] for one in content["images"]] == [2, 1, 1]
    assert report.left_out == {"d-rejected": "rejected by Dr. Müller: it has no mask"}


def test_an_import_of_that_coco_never_takes_undecided_pixels_for_a_lesion(folder: Path, tmp_path: Path) -> None:
    drawn = build(folder)
    export_reviewed(folder, "coco", tmp_path / "out")
    report = import_dataset("coco", tmp_path / "out", tmp_path / "again", file="annotations.json")
    assert report.skipped == ["c-unsure.png: has undecided pixels, which an import cannot keep"]
    with Image.open(tmp_path / "again/masks/a ring.png") as mask:
        assert np.array_equal(np.asarray(mask) > 0, drawn["a ring"] > 0)


@pytest.mark.parametrize("left", [(), ("c-unsure",)], ids=["undecided pixels", "all decided"])
def test_the_native_layout_is_read_as_the_reviewed_masks(folder: Path, tmp_path: Path, left: tuple[str, ...]) -> None:
    drawn = build(folder)
    for name in left:
        (folder / "reviewed" / f"{name}.json").unlink()
        del drawn[name]
    export_reviewed(folder, "native", tmp_path / "out")
    back = read_folder(tmp_path / "out")
    masks = {sample.image.stem: read_mask(sample.mask, back.classes).mask for sample in back.samples if sample.mask}
    assert masks.keys() == drawn.keys()
    assert all(np.array_equal(masks[name], drawn[name]) for name in drawn)
    assert {sample.image.stem: sample.tag for sample in back.samples}["b-normal"] == 0  # the mask decides, not the row
    assert {sample.group for sample in back.samples} == {f"out/patient p{n}" for n in range(2 - len(left))}
    first = tmp_path / "out/images/a ring.png"
    assert first.read_bytes() == (folder / "images/a ring.png").read_bytes()
    assert not [fault for fault in inspect_folder(tmp_path / "out").faults if fault.severity == "error"]


def test_decisions_stand_beside_every_export(folder: Path, tmp_path: Path) -> None:
    build(folder)
    export_reviewed(folder, "native", tmp_path / "out")
    with (tmp_path / "out/reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first = [rows[0][column] for column in ("image", "decision", "who", "mask")]
    assert first == ["a ring", "corrected", "Dr. Müller", "masks/a ring.png"]
    assert all(row["when"].startswith("2026-11-18T07:00") and row["model"] == "robust" for row in rows)
    history = json.loads((tmp_path / "out/reviews.json").read_text())["images"][0]["versions"]
    assert [(one["decision"], one["who"]) for one in history] == [("accepted", "first"), ("corrected", "Dr. Müller")]


def test_three_classes_keep_their_names_and_numbers(folder: Path, tmp_path: Path) -> None:
    build(folder)
    (folder / "classes.yaml").write_text("classes: [normal, polyp, ulcer]\n")
    mask = ring()
    mask[5:9, 30:50] = 2
    decide(folder, "a ring", mask)
    export_reviewed(folder, "coco", tmp_path / "coco")
    assert np.array_equal(coco_masks(tmp_path / "coco")["a ring"], mask)
    export_reviewed(folder, "native", tmp_path / "native")
    back = read_folder(tmp_path / "native")
    read = {sample.image.stem: read_mask(sample.mask, back.classes).mask for sample in back.samples if sample.mask}
    assert back.classes.names == ("normal", "polyp", "ulcer")
    assert np.array_equal(read["a ring"], mask)


def test_a_decision_about_an_image_that_is_gone_is_named(folder: Path, tmp_path: Path) -> None:
    build(folder)
    decide(folder, "gone", ring())
    report = export_reviewed(folder, "coco", tmp_path / "out")
    assert report.left_out["gone"] == "there is no image of this name"
    assert "- gone: there is no image of this name" in str(report)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_overwritten_and_nothing_half_written(folder: Path, tmp_path: Path, form: str) -> None:
    build(folder)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    with pytest.raises(DataError, match="nothing is overwritten"):
        export_reviewed(folder, form, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_what_cannot_be_asked_for_is_said_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    (folder / "images").mkdir(parents=True)
    Image.fromarray(ring()).save(folder / "images/a.png")
    with pytest.raises(DataError, match=r"no image of .* has a reviewed mask"):
        export_reviewed(folder, "coco", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigError, match="not exported as 'yolo'"):
        export_reviewed(folder, "yolo", tmp_path / "out")


def test_a_mask_of_another_size_is_left_out(folder: Path, tmp_path: Path) -> None:
    build(folder)
    decide(folder, "f-open", ring((20, 20)))
    report = export_reviewed(folder, "native", tmp_path / "out")
    assert report.left_out["f-open"].startswith("its reviewed mask is 20 x 20")
