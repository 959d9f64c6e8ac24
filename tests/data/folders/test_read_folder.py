"""A folder as samples; every mistake in one sentence with file and line."""

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from PIL import Image

from endotransfer.batch import LESION, NORMAL, UNKNOWN_TAG, Sample
from endotransfer.data.folders.read_folder import read_folder
from endotransfer.errors import DataError

MakeFolder = Callable[..., Path]
TABLE = """image,label,finding,split,cluster,patient,lighting
a,lesion,polyp,train,1,,day
b,normal,,test,1,p7,dusk
c,,,train,,,day
"""
BLANK = np.zeros((48, 64), np.uint8)


def test_rows_become_samples(make_folder: MakeFolder) -> None:
    folder = make_folder(labels=TABLE, masks={"b": BLANK})
    a, b, c = read_folder(folder).samples
    assert a == Sample("set/a", folder / "images/a.png", None, LESION, "polyp", "train", "set/cluster 1")
    assert b == Sample("set/b", folder / "images/b.png", folder / "masks/b.png", NORMAL, "", "test", "set/patient p7")
    assert c == Sample("set/c", folder / "images/c.png", None, UNKNOWN_TAG, "", "train", "set/c")


def test_a_sequence_ties_its_frames_unless_the_patient_is_known(make_folder: MakeFolder) -> None:
    table = "image,sequence,patient,cluster\na,s1,,4\nb,s1,p7,4\nc,,,4\n"
    groups = [sample.group for sample in read_folder(make_folder(labels=table)).samples]
    assert groups == ["set/sequence s1", "set/patient p7", "set/cluster 4"]


def test_without_a_table_every_image_is_read(make_folder: MakeFolder) -> None:
    samples = read_folder(make_folder(), split="all").samples
    assert [sample.key for sample in samples] == ["set/a", "set/b", "set/c"]
    assert {sample.tag for sample in samples} == {UNKNOWN_TAG}


def test_split_and_columns_select(make_folder: MakeFolder) -> None:
    folder = make_folder(labels=TABLE)
    assert [s.key for s in read_folder(folder, split="train").samples] == ["set/a", "set/c"]
    assert [s.key for s in read_folder(folder, where={"lighting": "dusk"}).samples] == ["set/b"]
    assert [s.key for s in read_folder(folder, split="train", where={"label": ""}).samples] == ["set/c"]


def test_images_that_the_table_leaves_out_stay_out(make_folder: MakeFolder) -> None:
    assert len(read_folder(make_folder(labels="image\nb\n")).samples) == 1


@pytest.mark.parametrize(("image", "mask"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_both_forms_of_an_umlaut_are_one_name(
    make_folder: MakeFolder, image: Literal["NFC", "NFD"], mask: Literal["NFC", "NFD"]
) -> None:
    files = [unicodedata.normalize(form, "Gerät") for form in (image, mask)]
    folder = make_folder(images=files[:1], masks={files[1]: BLANK}, labels="image,label\nGerät,normal\n")
    (sample,) = read_folder(folder).samples
    assert (sample.mask, sample.tag) == (folder / "masks" / f"{files[1]}.png", NORMAL)


def test_spaces_unicode_suffixes_and_windows_tables(make_folder: MakeFolder) -> None:
    names = ["ein Bild", "Ösophagus", "v1.2"]
    folder = make_folder(images=names)
    decomposed = unicodedata.normalize("NFD", "Ösophagus")
    table = f"\ufeffimage,label\r\nein Bild.png,lesion\r\n{decomposed},normal\r\nv1.2,\r\n\r\n"
    (folder / "labels.csv").write_bytes(table.encode())
    assert [s.key for s in read_folder(folder).samples] == [f"set/{name}" for name in names]


def test_masks_of_any_image_suffix_are_found(make_folder: MakeFolder) -> None:
    folder = make_folder(images=["a"])
    (folder / "masks").mkdir()
    Image.fromarray(BLANK).save(folder / "masks" / "a.JPG")
    assert read_folder(folder).samples[0].mask == folder / "masks" / "a.JPG"


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("image,label\na,lesoin\n", r"line 2: has the label 'lesoin'; write lesion or normal"),
        ("image\na\nb\n\na\n", r"line 5: names the image 'a', as line 2 does"),
        ("image\na\na.png\n", r"line 3: names the image 'a', as line 2 does"),
        ("image\nzz\n", r"line 2: names the image 'zz', which is not in images/"),
        ("image\n../a\n", r"line 2: names the image '\.\./a', which contains a path"),
        ("image\nsub\\a\n", r"contains a path"),
        ("image\n..\n", r"contains a path"),
        ("image,label\n,lesion\n", r"line 2: names no image"),
        ("image,label\na,lesion,x\n", r"line 2: has 3 cells for 2 columns"),
        ("name,label\na,lesion\n", r"no column `image` .*found: name, label"),
        ("image;label\na;lesion\n", r"not separated by commas"),
        ("image,label,label\n", r"two columns called 'label'"),
        ("image,Label\na,lesion\n", r"'Label'; write it as `label`"),
        ("", r"no column `image` .*found: nothing"),
        ("image\n", r"labels\.csv: holds no image"),
        ('image\n"a\n', r"not a readable table"),
    ],
)
def test_mistakes_in_the_table(make_folder: MakeFolder, labels: str, said: str) -> None:
    folder = make_folder(labels=labels)
    with pytest.raises(DataError, match=said) as caught:
        read_folder(folder)
    assert str(folder / "labels.csv") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_in_another_encoding(make_folder: MakeFolder) -> None:
    folder = make_folder()
    (folder / "labels.csv").write_bytes("image\nMagengeschwür\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        read_folder(folder)


def test_a_table_that_is_a_folder(make_folder: MakeFolder) -> None:
    folder = make_folder()
    (folder / "labels.csv").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        read_folder(folder)


def test_missing_folder_suggests_its_neighbour(make_folder: MakeFolder, tmp_path: Path) -> None:
    make_folder("capsule")
    with pytest.raises(DataError, match=r"capsul: is not a folder; did you mean '.*capsule'\?$"):
        read_folder(tmp_path / "capsul")
    with pytest.raises(DataError, match="check the path"):
        read_folder(tmp_path / "nowhere" / "deep")


def test_missing_images_folder_says_what_to_do(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    with pytest.raises(DataError, match=rf"name the folder above it \({folder}\)"):
        read_folder(folder / "images")
    (tmp_path / "flat").mkdir()
    with pytest.raises(DataError, match="endotransfer data import"):
        read_folder(tmp_path / "flat")
    (tmp_path / "flat" / "a.png").touch()
    with pytest.raises(DataError, match="move the images into"):
        read_folder(tmp_path / "flat")


def test_no_image_at_all(make_folder: MakeFolder) -> None:
    with pytest.raises(DataError, match="images: holds no image"):
        read_folder(make_folder(images=[]))


def test_two_images_of_one_name(make_folder: MakeFolder) -> None:
    folder = make_folder(images=["a"])
    (folder / "images" / "a.jpg").touch()
    with pytest.raises(DataError, match=r"same name as a\.jpg"):
        read_folder(folder)


@pytest.mark.parametrize("link", ["images/d.png", "masks/a.png", "labels.csv", "images", "masks"])
def test_links_out_of_the_folder_are_refused(make_folder: MakeFolder, tmp_path: Path, link: str) -> None:
    folder, outside = make_folder(masks={"b": BLANK}), tmp_path / "outside"
    if "." in link:
        outside.write_text("secret")
    else:
        (folder / link).rename(outside)
    (folder / link).symlink_to(outside)
    with pytest.raises(DataError, match="is a link that leaves the folder"):
        read_folder(folder)


def test_links_within_the_folder_and_to_it_are_fine(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    (folder / "images" / "d.png").symlink_to(folder / "images" / "a.png")
    (tmp_path / "other").symlink_to(folder)
    assert len(read_folder(tmp_path / "other").samples) == 4


def test_broken_and_circular_links(make_folder: MakeFolder) -> None:
    folder = make_folder()
    (folder / "images" / "d.png").symlink_to(folder / "images" / "nothing.png")
    with pytest.raises(DataError, match="broken link"):
        read_folder(folder)
    (folder / "images" / "d.png").unlink()
    (folder / "images" / "d.png").symlink_to(folder / "images" / "d.png")
    with pytest.raises(DataError, match=r"d\.png"):
        read_folder(folder)


def test_names_that_cannot_be_printed(make_folder: MakeFolder) -> None:
    folder = make_folder()
    (folder / "images" / "new\nline.png").touch()
    with pytest.raises(DataError, match=r"new\\nline\.png: has a name with control characters"):
        read_folder(folder)


def test_a_row_for_a_file_of_another_kind_is_not_dropped_silently(make_folder: MakeFolder) -> None:
    folder = make_folder(labels="image\na\nfilm\n")
    (folder / "images" / "film.gif").touch()
    with pytest.raises(DataError, match="names the image 'film', which is not in images/"):
        read_folder(folder)


def test_a_row_for_a_refused_file_names_the_file(make_folder: MakeFolder) -> None:
    folder = make_folder(labels="image\na\nx\n")
    (folder / "images" / "x.png").symlink_to("/etc/hostname")
    with pytest.raises(DataError, match=r"x\.png: is a link"):
        read_folder(folder)


def test_empty_split_names_what_exists(make_folder: MakeFolder) -> None:
    folder = make_folder(labels=TABLE)
    with pytest.raises(
        DataError, match=r"no image in the split 'val' \(it has: test, train\).*endotransfer data split"
    ):
        read_folder(folder, split="val")
    with pytest.raises(DataError, match="it has none"):
        read_folder(make_folder("bare"), split="train")


def test_empty_selection_names_columns_and_values(make_folder: MakeFolder) -> None:
    folder = make_folder(labels=TABLE)
    with pytest.raises(DataError, match=r"no column 'light'; name one of its columns \(image, label"):
        read_folder(folder, where={"light": "day"})
    with pytest.raises(DataError, match="lighting = 'night'; choose among: day, dusk"):
        read_folder(folder, where={"lighting": "night"})
    with pytest.raises(DataError, match=r"no labels\.csv"):
        read_folder(make_folder("bare"), where={"lighting": "day"})


def test_unreadable_folder_is_one_sentence(make_folder: MakeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder()

    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.scandir", refuse)  # the superuser of a container may read everything
    with pytest.raises(DataError, match="images: cannot be listed"):
        read_folder(folder)
    monkeypatch.setattr("endotransfer.data.folders.scan_folder.list_files", lambda *_: refuse(None))
    with pytest.raises(DataError, match="set: cannot be read"):
        read_folder(folder)


def test_broken_classes_stop_the_reading(make_folder: MakeFolder) -> None:
    with pytest.raises(DataError, match=r"classes\.yaml"):
        read_folder(make_folder(classes="classes: [a]"))


def test_what_operating_systems_leave_behind_is_passed_over(make_folder: MakeFolder) -> None:
    folder = make_folder()
    for name in (".DS_Store", "._a.png", "Thumbs.db"):
        (folder / "images" / name).touch()
    assert len(read_folder(folder).samples) == 3
