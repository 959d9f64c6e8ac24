"""Nothing is laundered, and nothing is left out unsaid: bad masks, unread files, folders of other names."""

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from endotransfer.data.importers import import_dataset
from endotransfer.errors import DataError
from tests.data.importers.conftest import names


@pytest.mark.parametrize(
    ("drawn", "reason"), [("photograph", "looks like a photograph"), ("inverted", "looks inverted")]
)
def test_a_bad_mask_is_left_out_and_not_laundered(plain: Path, draw: Any, out: Path, drawn: str, reason: str) -> None:
    if drawn == "photograph":
        draw.photo(plain / "masks" / "p01.png")
    else:
        draw.mask(plain / "masks" / "p01.png", ~draw.blob())
    (line,) = import_dataset("folders", plain, out).skipped
    assert line.startswith("masks/p01.png: ") and reason in line


@pytest.mark.parametrize("name", ["kvasir-seg", "folders"])
def test_both_forms_of_an_umlaut_are_one_name(
    miniature: Callable[[str], Path], draw: Any, out: Path, name: str
) -> None:
    folder = next(miniature(name).rglob("images")).parent
    draw.photo(folder / "images" / unicodedata.normalize("NFD", "Gerät.png"))
    draw.mask(folder / "masks" / unicodedata.normalize("NFC", "Gerät.png"), draw.blob())
    assert import_dataset(name, out.parent / "download", out).skipped == []
    assert len(names(out)) == len([*(out / "masks").iterdir()]) == len([*(folder / "masks").iterdir()])


@pytest.mark.parametrize("name", ["kvasir-seg", "folders"])
def test_unread_files_are_named(miniature: Callable[[str], Path], out: Path, name: str) -> None:
    folder = next(miniature(name).rglob("images"))
    for file in ("still.xyz", "note.docx"):
        (folder / file).write_bytes(b"x")
    left = import_dataset(name, out.parent / "download", out).skipped
    assert [line.split(": ")[0] for line in left] == ["images/note.docx", "images/still.xyz"]
    assert all("not read" in line for line in left)


@pytest.mark.parametrize("name", ["kvasir-seg", "folders"])
def test_an_archive_asks_to_be_unpacked(miniature: Callable[[str], Path], out: Path, name: str) -> None:
    (next(miniature(name).rglob("images")) / "more.ZIP").write_bytes(b"PK")
    left = import_dataset(name, out.parent / "download", out).skipped
    assert left == ["images/more.ZIP: is an archive, which is not looked into; unpack it"]


def test_a_sub_folder_that_a_public_set_has_no_place_for_is_named(
    miniature: Callable[[str], Path], draw: Any, out: Path
) -> None:
    images = next(miniature("kvasir-seg").rglob("images"))
    draw.photo(images / "again" / "a.jpg")
    (images / "nothing").mkdir()
    left = import_dataset("kvasir-seg", out.parent / "download", out).skipped
    assert left == ["images/again: is a sub-folder with pictures, which are not read here"]


def test_what_lies_beside_the_named_folders_is_said(plain: Path, draw: Any, out: Path) -> None:
    draw.photo(plain / "images_2" / "P1" / "a.jpg")
    draw.photo(plain / "b.jpg")
    for name in ("tags.csv", "notes.txt", ".hidden.csv", "empty/notes.txt"):
        (plain / name).parent.mkdir(exist_ok=True)
        (plain / name).write_text("x")
    left = import_dataset("folders", plain, out).skipped
    assert [line.split(" that no")[0].split(";")[0] for line in left] == [
        "b.jpg: lies beside the folders that are read",
        "images_2: is a folder with pictures",
        "tags.csv: is a table, which is not read here",
    ]
    assert "masks: is a folder with pictures that no option names" in (
        import_dataset("folders", plain, None, dry_run=True, masks="").skipped
    )


@pytest.mark.parametrize("folder", ["image", "Bilder", "my_images"])
def test_a_folder_of_another_name_is_suggested(plain: Path, out: Path, folder: str) -> None:
    (plain / "images").rename(plain / folder)
    with pytest.raises(DataError, match=rf"should hold 'images' but holds .*; did you mean --images {folder}\?"):
        import_dataset("folders", plain, out)


@pytest.mark.parametrize("ending", ["_mask", "_Maske", "-seg", "_x"])
def test_masks_beside_their_images_are_no_images(source: Path, draw: Any, out: Path, ending: str) -> None:
    for name in ("P1/a", "P1/b", "P2/a"):
        draw.photo(source / f"{name}.jpg")
        draw.mask(source / f"{name}{ending}.PNG", draw.blob())
    draw.photo(source / "c.jpg")
    suffix = "_x" if ending == "_x" else ""
    report = import_dataset("folders", source, out, images=".", masks=".", suffix=suffix)
    assert (names(out), report.masks) == (["P1-a", "P1-b", "P2-a"], 3)
    assert report.skipped == ["c.jpg: no mask was found for it"]
    bare = import_dataset("folders", source, None, images=".", masks="", dry_run=True, suffix=suffix)
    assert bare.images == 4 and len(bare.skipped) == 3
    assert all(f"{ending}.PNG: is a mask by its folder or its name" in line for line in bare.skipped)


def test_an_ending_of_masks_that_is_not_guessed_is_told_and_taken(source: Path, draw: Any, out: Path) -> None:
    draw.photo(source / "images" / "P1" / "a.jpg")
    draw.mask(source / "masks" / "P1" / "a drawn.png", draw.blob())
    with pytest.raises(DataError) as told:
        import_dataset("folders", source, out)
    hint = "no image was found for this mask; an image is called like it without ' drawn' (--suffix ' drawn')"
    assert f"(images/P1/a.jpg: no mask was found for it; masks/P1/a drawn.png: {hint})" in str(told.value)
    assert import_dataset("folders", source, out, suffix=" drawn").masks == 1


def test_a_flat_folder_is_told_its_options(source: Path, draw: Any, out: Path) -> None:
    draw.photo(source / "a.jpg")
    draw.mask(source / "a_mask.png", draw.blob())
    with pytest.raises(DataError, match=r"did you mean --images \.\?"):
        import_dataset("folders", source, out)
    with pytest.raises(DataError, match=r"did you mean --masks \.\?"):
        import_dataset("folders", source, out, images=".")
    assert import_dataset("folders", source, out, images=".", masks=".").masks == 1


def test_the_folder_of_masks_may_be_the_one_around_the_images(source: Path, draw: Any, out: Path) -> None:
    draw.photo(source / "images" / "a.jpg")
    draw.mask(source / "drawn" / "a.png", draw.blob())
    assert import_dataset("folders", source, out, masks=".").masks == 1


def test_folders_among_the_images_are_not_read_twice(source: Path, draw: Any, out: Path) -> None:
    draw.photo(source / "a.jpg")
    draw.mask(source / "drawn" / "a.png", draw.blob())
    draw.photo(source / "others" / "b.jpg")
    report = import_dataset("folders", source, out, images=".", masks="drawn", normal="others")
    assert (names(out), report.masks, report.normal, report.skipped) == (["a", "b"], 2, 1, [])


def test_what_is_odd_but_usable_is_said(plain: Path, draw: Any, out: Path) -> None:
    draw.pixels(plain / "images" / "p03.png", np.zeros((*draw.size, 3), np.uint8))
    draw.mask(plain / "masks" / "p03.png", draw.blob())
    report = import_dataset("folders", plain, out)
    assert [line.split(":")[0] for line in report.warnings] == ["images/p03.png"]
    assert "Odd, but taken: 1" in str(report)


def test_links_are_not_followed_in_circles_or_out(plain: Path, tmp_path: Path, out: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.png").write_bytes((plain / "masks" / "p01.png").read_bytes())
    (plain / "images" / "round").symlink_to(plain / "images")
    (plain / "images" / "away").symlink_to(tmp_path / "secret")
    (plain / "images" / "gone.png").symlink_to(plain / "images" / "nowhere.png")
    left = import_dataset("folders", plain, out).skipped
    assert left == [
        "images/away: is a link that leaves the folder, which is refused",
        "images/gone.png: is not a file (a broken link or a device)",
        "images/round: is a link to a folder, which is not followed",
    ]
