"""Set by set: names, tags, sequences, and masks to the pixel."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.importers import import_dataset
from endotransfer.data.importers.cvc_clinicdb import sequence
from endotransfer.errors import DataError

Miniature = Callable[[str], Path]


def rows(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "labels.csv").open(newline="") as file:
        return {row["image"]: row for row in csv.DictReader(file)}


def column(folder: Path, name: str) -> dict[str, str]:
    return {image: row[name] for image, row in rows(folder).items()}


def values(folder: Path, name: str) -> NDArray[np.uint8]:
    return np.asarray(Image.open(folder / "masks" / f"{name}.png"))


def test_kvasir_seg_masks_lose_their_noise_and_images_not_a_byte(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("kvasir-seg")
    name, root = "cju0qoxqj9q6s0835b43399p4", source / "Kvasir-SEG"
    assert len(np.unique(np.asarray(Image.open(root / "masks" / f"{name}.jpg")))) > 2
    report = import_dataset("kvasir-seg", source, out)
    np.testing.assert_array_equal(values(out, name), np.where(draw.blob(left=1), 255, 0))
    assert (out / "images" / f"{name}.jpg").read_bytes() == (root / "images" / f"{name}.jpg").read_bytes()
    assert rows(out)[name] == {"image": name, "label": "lesion", "finding": "polyp", "split": "", "patient": ""}
    assert report.conversions == {"grey noise around 0 and 255 was cut at half": 2}


def test_cvc_clinicdb_frames_know_their_sequence_and_stay_tiff(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("cvc-clinicdb")
    import_dataset("cvc-clinicdb", source, out)
    assert list(column(out, "sequence").items()) == [
        ("1", "sequence-01"), ("2", "sequence-01"), ("26", "sequence-02"), ("612", "sequence-29"),
    ]  # fmt: skip
    assert (out / "images" / "26.tif").is_file()
    np.testing.assert_array_equal(values(out, "26"), np.where(draw.blob(), 255, 0))


def test_the_29_sequences_of_cvc_clinicdb_cover_its_612_frames() -> None:
    found = [sequence(str(frame)) for frame in range(1, 613)]
    assert len(set(found)) == 29 and found == sorted(found)
    assert [sequence(frame) for frame in ("25", "466", "467", "478", "591")] == [
        "sequence-01", "sequence-22", "sequence-23", "sequence-23", "sequence-28",
    ]  # fmt: skip
    assert [sequence(name) for name in ("0", "613", "a1", "²")] == ["", "", "", ""]


def test_two_copies_of_a_set_are_not_chosen_between_silently(miniature: Miniature, out: Path) -> None:
    source = miniature("cvc-clinicdb")
    root = source / "CVC-ClinicDB"
    shutil.copytree(root, source / "both" / "PNG")
    shutil.move(root, source / "both" / "TIF")
    with pytest.raises(DataError, match=r"several copies of the set \('both/PNG', 'both/TIF'\); give one of them"):
        import_dataset("cvc-clinicdb", source, out)
    assert import_dataset("cvc-clinicdb", source / "both" / "PNG", out).images == 4


def test_etis_larib_masks_are_found_by_their_p(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("etis-larib")
    import_dataset("etis-larib", source, out)
    assert list(rows(out)) == ["1", "2", "10"]
    for name in ("1", "2", "10"):
        np.testing.assert_array_equal(values(out, name), np.where(draw.blob(left=int(name)), 255, 0))


def test_polypgen_tags_come_from_masks_and_sequences_stay_together(miniature: Miniature, out: Path) -> None:
    source = miniature("polypgen")
    report = import_dataset("polypgen", source, out)
    assert column(out, "label")["100S0001"] == "normal" and column(out, "finding")["100S0001"] == ""
    assert column(out, "label")["C3_EndoCV2021_00489_"] == "lesion"
    frame = rows(out)["seq2_0_endocv2021_positive_167"]
    assert (frame["label"], frame["finding"], frame["sequence"], frame["centre"]) == ("lesion", "polyp", "seq2", "")
    normal = rows(out)["seq1_neg_seq1_neg_endocv2021_0001"]
    assert (normal["label"], normal["sequence"]) == ("normal", "seq1_neg")
    assert not values(out, "seq1_neg_seq1_neg_endocv2021_0001").any()
    assert column(out, "centre")["2_endocv2021_positive_1059"] == "C4"
    assert report.conversions["the tag 'lesion' was taken from the mask"] == 7
    assert report.conversions["the tag 'normal' was taken from the mask"] == 1
    assert report.conversions["an empty mask was written for a normal image"] == 1


@pytest.mark.parametrize(("part", "images"), [("frames", 7), ("sequences", 2)])
def test_polypgen_in_parts(miniature: Miniature, out: Path, part: str, images: int) -> None:
    source = miniature("polypgen")
    assert import_dataset("polypgen", source, out, part=part).images == images


def test_polypgen_names_a_centre_without_masks(miniature: Miniature, out: Path) -> None:
    source = miniature("polypgen")
    shutil.rmtree(source / "PolypGen2021_MultiCenterData_v3" / "data_C5" / "masks_C5")
    report = import_dataset("polypgen", source, out)
    assert report.skipped == ["data_C5: lacks 'images_C5' or 'masks_C5'"]
    assert report.images == 8


def test_edd2020_diseases_are_merged_and_kept_as_finding(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("edd2020")
    report = import_dataset("edd2020", source, out)
    both = draw.blob(top=2, height=12) | draw.blob(top=9, height=12)
    np.testing.assert_array_equal(values(out, "EDD2020_ACB0001"), np.where(both, 255, 0))
    assert column(out, "finding") == {"EDD2020_ACB0001": "BE+suspicious", "EDD2020_AJ0012": "polyp"}
    assert report.conversions["several masks were merged into one"] == 1
    assert not (out / "classes.yaml").exists()


def test_edd2020_separate_classes_are_indices_and_overlap_is_said(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("edd2020")
    report = import_dataset("edd2020", source, out, classes="separate")
    expected = np.zeros(draw.size, np.uint8)
    expected[draw.blob(top=2, height=12)] = 1
    expected[draw.blob(top=9, height=12)] = 2
    np.testing.assert_array_equal(values(out, "EDD2020_ACB0001"), expected)
    assert read_folder(out).classes.names == ("normal", "BE", "suspicious", "HGD", "cancer", "polyp")
    assert values(out, "EDD2020_AJ0012").max() == 5
    assert report.conversions["where classes overlap, the later one was kept"] == 1


def test_edd2020_names_what_does_not_fit(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("edd2020")
    root = source / "EDD2020_release-I_2020-01-15"
    draw.photo(root / "originalImages" / "EDD2020_B0002.jpg")
    draw.mask(root / "masks" / "EDD2020_B0002_wart.tif", draw.blob())
    draw.mask(root / "masks" / "EDD2020_X0001_hgd_1.tif", draw.blob())
    assert import_dataset("edd2020", source, out).skipped == [
        "masks/EDD2020_B0002_wart.tif: its name ends in no known disease",
        "originalImages/EDD2020_B0002.jpg: no mask in masks",
        "masks/EDD2020_X0001_*: no image in originalImages",
    ]


def test_wcebleedgen_halves_do_not_collide(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("wcebleedgen")
    import_dataset("wcebleedgen", source, out)
    assert column(out, "label") == {
        "bleeding-0001": "lesion", "bleeding-0002": "lesion",
        "non-bleeding-0001": "normal", "non-bleeding-0002": "normal",
    }  # fmt: skip
    assert column(out, "finding")["bleeding-0002"] == "bleeding"
    np.testing.assert_array_equal(values(out, "bleeding-0002"), np.where(draw.blob(left=2), 255, 0))


def test_wcebleedgen_half_without_masks_is_refused(miniature: Miniature, out: Path) -> None:
    source = miniature("wcebleedgen")
    shutil.rmtree(source / "WCEBleedGen" / "non-bleeding" / "annotation")
    with pytest.raises(DataError, match="non-bleeding should hold 'images' and 'annotations' but holds 'images'"):
        import_dataset("wcebleedgen", source, out)


def test_hyperkvasir_categories_become_tags_and_doubt_stays_doubt(miniature: Miniature, out: Path) -> None:
    source = miniature("hyperkvasir")
    import_dataset("hyperkvasir", source, out)
    by_finding = {row["finding"]: row for row in rows(out).values()}
    assert {finding: row["label"] for finding, row in by_finding.items()} == {
        "z-line": "normal", "barretts": "lesion", "bbps-2-3": "", "dyed-lifted-polyps": "",
    }  # fmt: skip
    assert by_finding["barretts"]["organ"] == "upper-gi-tract"
    assert [path.stem for path in (out / "masks").iterdir()] == [by_finding["z-line"]["image"]]


@pytest.mark.parametrize(("organ", "images"), [("upper", 2), ("lower", 2)])
def test_hyperkvasir_by_organ(miniature: Miniature, out: Path, organ: str, images: int) -> None:
    source = miniature("hyperkvasir")
    assert import_dataset("hyperkvasir", source, out, organ=organ).images == images


def test_hyperkvasir_segmented_polyps_have_masks(miniature: Miniature, draw: Any, out: Path) -> None:
    source = miniature("hyperkvasir")
    report = import_dataset("hyperkvasir", source, out, part="segmented")
    assert (report.images, report.masks, report.lesion) == (1, 1, 1)
    np.testing.assert_array_equal(values(out, "cju0qkwl35piu0993l0dewei2"), np.where(draw.blob(), 255, 0))


def test_folders_with_suffix_normal_images_and_a_finding(source: Path, draw: Any, out: Path) -> None:
    draw.photo(source / "scans" / "p01.png")
    draw.mask(source / "drawn" / "p01_seg.png", draw.blob())
    draw.photo(source / "healthy" / "n01.png")
    options: dict[str, Any] = {
        "images": "scans",
        "masks": "drawn",
        "suffix": "_seg",
        "normal": "healthy",
        "finding": "ulcer",
    }
    report = import_dataset("folders", source, out, **options)
    assert column(out, "label") == {"p01": "lesion", "n01": "normal"}
    assert column(out, "finding") == {"p01": "ulcer", "n01": ""}
    assert report.masks == 2 and not values(out, "n01").any()


def test_folders_without_masks_give_tags_only(source: Path, draw: Any, out: Path) -> None:
    draw.photo(source / "images" / "p01.png")
    report = import_dataset("folders", source, out, masks="")
    assert (report.images, report.masks, report.lesion) == (1, 0, 1)


def test_folders_with_classes_keep_indices_and_give_no_tag(source: Path, draw: Any, out: Path) -> None:
    index = (np.arange(draw.size[0] * draw.size[1]) % 3).astype(np.uint8).reshape(draw.size)
    draw.photo(source / "images" / "a.png")
    draw.pixels(source / "masks" / "a.png", index)
    import_dataset("folders", source, out, classes="road, tree, sky")
    np.testing.assert_array_equal(values(out, "a"), index)
    assert read_folder(out).classes.names == ("road", "tree", "sky")
    assert column(out, "label") == {"a": ""}
