"""The numbers of a small folder, counted by hand."""

import os
import time
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from endotransfer.data.inspect import inspect_folder, render

MakeFolder = Callable[..., Path]
TABLE = """image,label,finding,split,cluster,patient
a,lesion,polyp,train,1,p
b,normal,,train,2,q
c,lesion,ulcer,test,3,r
d,,,test,,
e,lesion,polyp,test,,
"""


@pytest.fixture
def folder(make_folder: MakeFolder) -> Path:
    quarter = np.zeros((48, 64), np.uint8)
    quarter[:24, :32] = 255
    empty = np.zeros((48, 64), np.uint8)
    return make_folder(images=list("abcde"), masks={"a": quarter, "b": empty, "c": quarter}, labels=TABLE)


def on_screen(path: Path) -> str:
    screen = StringIO()
    Console(width=120, file=screen).print(render(inspect_folder(path)))
    return screen.getvalue()


def test_counts(folder: Path) -> None:
    inspection = inspect_folder(folder)
    numbers = inspection.fingerprint
    assert not inspection.faults
    assert numbers["images"] == numbers["readable"] == 5
    assert numbers["labelled_by"] == {"mask": 3, "nothing": 1, "tag only": 1}
    assert numbers["tags_by_split"] == {"test": {"lesion": 2, "unknown": 1}, "train": {"lesion": 1, "normal": 1}}
    assert numbers["findings"] == {"polyp": 2, "ulcer": 1}
    assert (numbers["patients"], numbers["clusters"]) == (3, 3)
    assert numbers["formats"] == {"PNG": 5}
    assert numbers["mask_conversions"] == {"0 / 255 was read as normal / lesion": 2}


def test_sizes_and_areas(folder: Path) -> None:
    numbers = inspect_folder(folder).fingerprint
    assert numbers["sizes"]["height"] == {"min": 48.0, "median": 48.0, "max": 48.0}
    assert numbers["sizes"]["aspect"]["median"] == pytest.approx(4 / 3)
    assert numbers["class_share"] == pytest.approx({"normal": 1 - 0.5 / 3, "lesion": 0.5 / 3, "unlabelled": 0})
    assert numbers["lesion_area"] == pytest.approx(dict.fromkeys(("p5", "p25", "p50", "p75", "p95"), 0.25))


def test_a_clean_folder_says_so(folder: Path) -> None:
    assert "no fault found" in on_screen(folder)


def test_classes_of_an_index_mask(make_folder: MakeFolder) -> None:
    mask = np.zeros((48, 64), np.uint8)
    mask[:12], mask[12:24] = 2, 255
    numbers = inspect_folder(make_folder(images=["a"], masks={"a": mask}, classes="classes: [x, y, z]")).fingerprint
    assert numbers["class_share"] == pytest.approx({"x": 2 / 3, "y": 0, "z": 1 / 3, "unlabelled": 0.25})
    assert numbers["lesion_area"] == {}


def test_a_mask_that_nobody_labelled_covers_nothing(make_folder: MakeFolder) -> None:
    mask = np.full((48, 64), 255, np.uint8)
    path = make_folder(images=["a"], masks={"a": mask}, classes="classes: [normal, lesion]\nignore: 255")
    numbers = inspect_folder(path).fingerprint
    assert numbers["class_share"]["unlabelled"] == 1
    assert numbers["lesion_area"] == {}


@pytest.mark.parametrize("broken", ["missing", "empty", "file", "classes", "table"])
def test_hopeless_folders_give_faults_not_exceptions(tmp_path: Path, make_folder: MakeFolder, broken: str) -> None:
    path = tmp_path / "set"
    if broken == "empty":
        path.mkdir()
    elif broken == "file":
        path.write_text("x")
    elif broken == "classes":
        make_folder(classes="classes: 3")
    elif broken == "table":
        make_folder(labels="image,Label\na,lesion\n")
    inspection = inspect_folder(path)
    assert [fault.severity for fault in inspection.faults] == ["error"]
    assert render(inspection)


def test_duplicates_within_a_split_and_with_other_labels(make_folder: MakeFolder) -> None:
    table = "image,label,split\na,lesion,train\nb,lesion,train\nc,lesion,test\nd,normal,test\n"
    path = make_folder(images=list("abcd"), labels=table)
    for copy, original in (("b", "a"), ("d", "c")):
        (path / f"images/{copy}.png").write_bytes((path / f"images/{original}.png").read_bytes())
    inspection = inspect_folder(path)
    assert [(fault.code, fault.severity) for fault in inspection.faults] == [
        ("duplicate-label", "error"),
        ("duplicate", "warning"),
    ]
    duplicates = inspection.fingerprint["duplicates"]
    assert (duplicates["exact_groups"], duplicates["exact_images"], duplicates["exact_across_splits"]) == (2, 4, 0)


def test_a_picture_of_two_patients_is_said(make_folder: MakeFolder) -> None:
    path = make_folder(images=["a", "b"], labels="image,patient\na,P1\nb,P2\n")
    (path / "images/b.png").write_bytes((path / "images/a.png").read_bytes())
    (fault,) = inspect_folder(path).faults
    assert fault.what == "has the same pixels as b.png, but belongs to another patient (P1, P2)"


def test_near_duplicates_within_a_split_are_counted_but_no_fault(
    make_folder: MakeFolder, photo: Callable[[int], NDArray[np.uint8]]
) -> None:
    path = make_folder(images=["a", "b"], labels="image,split\na,train\nb,train\n")
    Image.fromarray((photo(0) * 0.9).astype(np.uint8)).save(path / "images/b.png")
    inspection = inspect_folder(path)
    assert inspection.fingerprint["duplicates"]["near_groups"] == 1
    assert not inspection.faults


def test_many_copies_are_counted_not_listed(make_folder: MakeFolder) -> None:
    path = make_folder(images=list("abcdef"))
    for copy in "bcdef":
        (path / f"images/{copy}.png").write_bytes((path / "images/a.png").read_bytes())
    assert inspect_folder(path).faults[0].what == "has the same pixels as b.png, c.png, d.png and 2 more"


def test_an_overlay_that_betrays_the_tag_is_noted(
    make_folder: MakeFolder, photo: Callable[[int], NDArray[np.uint8]]
) -> None:
    rows = [f"x{i},{'lesion' if i % 2 else 'normal'}" for i in range(8)]
    path = make_folder(images=[f"x{i}" for i in range(8)], labels="\n".join(["image,label", *rows]))
    for i in range(1, 8, 2):
        pixels = photo(i).copy()
        pixels[30:46, 2:20] = (25, 170, 140)
        Image.fromarray(pixels).save(path / f"images/x{i}.png")
    inspection = inspect_folder(path)
    assert inspection.fingerprint["overlays_by_tag"]["coloured_box"] == {"lesion": 1.0, "normal": 0.0}
    assert [note.code for note in inspection.cautions] == ["no-patient", "overlay-shortcut"]


def test_long_lists_are_cut_on_screen(make_folder: MakeFolder) -> None:
    path = make_folder(images=[f"x{i}" for i in range(9)], labels="image\nx0\n")
    assert "and 3 more (--json lists them)" in on_screen(path)


def shared_data() -> Path:
    root = os.environ.get("ENDOTRANSFER_SHARED")
    return (Path(root) if root else Path(__file__).resolve().parents[4] / "shared") / "data"


@pytest.mark.slow
@pytest.mark.skipif(not (shared_data() / "edd2020").is_dir(), reason="needs the public sets in ../shared/data")
def test_a_real_set_raises_no_false_alarm() -> None:
    start = time.perf_counter()
    inspection = inspect_folder(shared_data() / "edd2020")
    # Two equal frames, and two scenes shown again in the other split: seen by eye.
    assert Counter(fault.code for fault in inspection.faults) == {"duplicate": 1, "near-duplicate-across-splits": 2}
    assert inspection.fingerprint["images"] == 386
    assert time.perf_counter() - start < 60
