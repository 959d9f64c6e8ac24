"""What is wrong with a published set, in one sentence."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.batch import IGNORE
from endotransfer.data.folders.domain import FolderPart, read_domain
from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.inspect import inspect_folder
from endotransfer.data.layouts import read_layout
from endotransfer.data.read.checked_mask import check_masks
from endotransfer.data.read.read_mask import read_mask
from endotransfer.errors import ConfigError, DataError
from tests.street_trees import (
    save_palette,
    stripes,
    write_wide_png,
)

FILES = {
    "cityscapes": (
        "leftImg8bit/val/frankfurt/frankfurt_000001_000019_leftImg8bit.png",
        "gtFine/val/frankfurt/frankfurt_000001_000019_gtFine_labelIds.png",
    ),
    "gta5": ("images/00002.png", "labels/00002.png"),
    "synthia": ("RGB/0000001.png", "GT/LABELS/0000001.png"),
}


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(tree: Callable[[str], Path], name: str, which: int) -> None:
    path = tree(name)
    missing = path / FILES[name][which]
    missing.unlink()
    with pytest.raises(DataError) as caught:
        read_folder(path)
    partner = ("label", "image")[which]
    assert str(caught.value) == (
        f"{missing}: is missing, though its {partner} is there; add it, or remove the {partner}."
    )


def test_several_missing_files_are_counted(tree: Callable[[str], Path]) -> None:
    path = tree("gta5")
    for number in (1, 3, 4):
        (path / "labels" / f"{number:05d}.png").unlink()
    with pytest.raises(DataError, match=r"labels/00001\.png: is missing, .* and so are 2 others"):
        read_folder(path)


@pytest.mark.parametrize("name", FILES)
def test_an_unknown_number_is_named(tree: Callable[[str], Path], name: str) -> None:
    path = tree(name)
    folder, label = read_folder(path), path / FILES[name][1]
    numbers = stripes(range(23), 0)
    numbers[0, :2] = 255, 77  # 255 is unlabelled everywhere
    if name == "synthia":
        write_wide_png(label, np.stack([numbers, numbers, numbers], 2))
    else:
        Image.fromarray(numbers).save(label)
    with pytest.raises(DataError, match=r"holds the number 77, but \w+ numbers its labels from 0 to \d\d;"):
        read_mask(label, folder.classes)
    numbers[0, 1] = 255
    Image.fromarray(numbers).save(label)
    if name != "synthia":
        assert read_mask(label, folder.classes).mask[0, 0] == IGNORE


@pytest.mark.parametrize("name", ["cityscapes", "synthia"])
def test_another_size_is_named(tree: Callable[[str], Path], name: str) -> None:
    path = tree(name)
    small = stripes(range(23), 0, (20, 30))
    if name == "synthia":
        write_wide_png(path / FILES[name][1], np.stack([small, small, small], 2))
    else:
        Image.fromarray(small).save(path / FILES[name][1])
    folder = read_folder(path)
    with pytest.raises(DataError, match=r"is 30 x 20 pixels, but its image is 80 x 40"):
        check_masks(folder.samples, folder.classes)


def test_pairs_of_gta5_that_differ_in_size_are_left_out_and_named(tree: Callable[[str], Path]) -> None:
    path = tree("gta5")
    save_palette(stripes(range(35), 0, (20, 30)), path / "labels" / "00003.png")
    folder = read_folder(path)
    assert [sample.key for sample in folder.samples] == ["gta5/00001", "gta5/00002", "gta5/00004"]
    (note,) = folder.notes
    assert note.what == "pairs whose label has another size than its image are left out: 00003"
    assert note.files == (str(path / "labels" / "00003.png"),)
    assert any("00003" in note.what for note in inspect_folder(path).notes)


def test_a_lossy_label_is_refused(tree: Callable[[str], Path]) -> None:
    path = tree("gta5")
    folder = read_folder(path)
    Image.fromarray(stripes(range(35), 0)).save(path / "labels" / "00001.png", "JPEG")
    with pytest.raises(DataError, match="JPEG file, which cannot hold label numbers"):
        read_mask(path / "labels" / "00001.png", folder.classes)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("cityscapes", "has no folder leftImg8bit/; name the folder that holds leftImg8bit/"),
        ("gta5", "has no folder images/; name the folder that holds images/ and labels/"),
        ("synthia", "has no folder RGB/; name the folder that holds RGB/ and GT/LABELS/"),
        ("camvid", "has no sub-folder images/"),
    ],
)
def test_a_folder_in_another_layout_is_told_what_it_lacks(tmp_path: Path, layout: str, words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_folder(tmp_path, layout=layout)


def test_an_empty_tree_is_named(tmp_path: Path) -> None:
    (tmp_path / "leftImg8bit" / "train").mkdir(parents=True)
    with pytest.raises(DataError, match="leftImg8bit: holds no image under its published name"):
        read_folder(tmp_path)


def test_a_wrong_layout_or_wrong_classes_are_answered_with_what_there_is(tree: Callable[[str], Path]) -> None:
    path = tree("camvid")
    with pytest.raises(ConfigError, match="no layout called 'cityscape'; did you mean 'cityscapes'"):
        read_folder(path, layout="cityscape")
    with pytest.raises(DataError, match=r"cannot be read as cityscapes19; write `data\.classes: camvid11`"):
        read_folder(path, classes="cityscapes19")
    with pytest.raises(DataError, match="GTA5: has no label 'pavement', so it cannot be read as camvid11"):
        read_folder(tree("gta5"), classes="camvid11")


def test_two_sets_with_other_numbers_are_no_single_domain(tree: Callable[[str], Path]) -> None:
    with pytest.raises(DataError, match="numbers its labels in another way than"):
        read_domain([FolderPart(tree("gta5")), FolderPart(tree("synthia"))], classes="cityscapes16")


def test_a_folder_that_may_not_be_read_is_named(tree: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tree("cityscapes")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("endotransfer.data.layouts.cityscapes._folders", refuse)
    (fault,) = read_layout(path).faults
    assert "cannot be read (Permission denied)" in fault.sentence()


def test_a_path_that_cannot_be_is_one_sentence() -> None:
    (fault,) = read_layout(Path("x" * 5000), classes="cityscapes19").faults
    assert fault.code in ("no-folder", "no-permission")


@pytest.mark.parametrize("name", ["cityscapes", "gta5", "synthia", "camvid"])
def test_a_tree_can_be_inspected(tree: Callable[[str], Path], name: str) -> None:
    assert inspect_folder(tree(name)).errors == []
