"""Faulty downloads, interruptions and wrong options: every importer goes through the same writer."""

import csv
import errno
import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.importers import IMPORTERS, ImportReport, import_dataset
from endotransfer.errors import ConfigError, DataError


def names(folder: Path) -> list[str]:
    with (folder / "labels.csv").open(newline="") as file:
        return [row["image"] for row in csv.DictReader(file)]


@pytest.fixture
def plain(miniature: Callable[[str], Path]) -> Path:
    """A lesion (p01) and a normal image (p02) with their masks."""
    return miniature("folders")


# Faulty downloads ------------------------------------------------------------------------------------------------


def test_images_and_masks_without_partner_are_named(plain: Path, draw: Any, out: Path) -> None:
    draw.photo(plain / "images" / "p03.png")
    draw.mask(plain / "masks" / "p04.png", draw.blob())
    report = import_dataset("folders", plain, out)
    left = ["images/p03.png: no mask was found for it", "masks/p04.png: no image was found for this mask"]
    assert report.skipped == left
    assert f"- {left[1]}" in (out / "SOURCE.md").read_text()
    assert (out / "quarantine.csv").read_text().splitlines() == [
        "file,reason",
        *(line.replace(": ", ",") for line in left),
    ]


def test_a_mask_of_another_size_is_never_stretched(plain: Path, draw: Any, out: Path) -> None:
    draw.pixels(plain / "masks" / "p01.png", np.zeros((12, 20), np.uint8))
    report = import_dataset("folders", plain, out)
    assert report.skipped == ["images/p01.bmp: the mask is 20x12 pixels but the image is 40x24"]
    assert names(out) == ["p02"] and not (out / "images" / "p01.bmp").exists()


@pytest.mark.parametrize("file", ["images/p01.bmp", "masks/p01.png"])
def test_a_file_cut_short_is_named(plain: Path, out: Path, file: str) -> None:
    content = (plain / file).read_bytes()
    (plain / file).write_bytes(content[: len(content) * 2 // 3])
    report = import_dataset("folders", plain, out)
    assert report.images == 1 and len(report.skipped) == 1
    assert report.skipped[0].startswith(f"{file}: cannot be decoded")


def test_a_mask_with_unknown_values_is_named(plain: Path, draw: Any, out: Path) -> None:
    draw.pixels(plain / "masks" / "p01.png", np.indices(draw.size, np.uint8)[1] % 4)
    (line,) = import_dataset("folders", plain, out).skipped
    assert line.startswith("masks/p01.png: holds the values 0, 1, 2, 3")


def test_a_set_that_contradicts_itself_is_named(source: Path, draw: Any, out: Path) -> None:
    for half in (source / "bleeding", source / "non-bleeding"):
        for number, mask in enumerate([draw.blob(), draw.blob(height=0)], start=1):
            draw.photo(half / "Images" / f"img- ({number}).png")
            draw.mask(half / "Annotations" / f"ann- ({number}).png", mask)
    report = import_dataset("wcebleedgen", source, out)
    assert report.skipped == [
        "Images/img- (2).png: the set calls it lesion but its mask says normal",
        "Images/img- (1).png: the set calls it normal but its mask says lesion",
    ]
    assert names(out) == ["bleeding-0001", "non-bleeding-0002"]


def test_two_images_of_one_name_are_not_merged(plain: Path, draw: Any, out: Path) -> None:
    draw.photo(plain / "healthy" / "P01.png")
    report = import_dataset("folders", plain, out, normal="healthy")
    assert report.skipped == ["healthy/P01.png: another image is called 'P01' too"]


@pytest.mark.parametrize(("mode", "change"), [("L", "grey"), ("RGBA", "black"), ("P", "palette")])
def test_an_image_that_is_not_rgb_becomes_a_png_and_that_is_counted(
    plain: Path, draw: Any, out: Path, mode: str, change: str
) -> None:
    (plain / "images" / "p01.bmp").unlink()
    colours = np.random.default_rng(0).integers(0, 256, (*draw.size, 4), np.uint8)
    Image.fromarray(colours).convert(mode).save(plain / "images" / "p01.tif")
    report = import_dataset("folders", plain, out)
    assert Image.open(out / "images" / "p01.png").mode == "RGB"
    (line,) = [line for line in report.conversions if line.startswith("image saved as PNG")]
    assert change in line and report.conversions[line] == 1


def test_a_download_without_one_usable_image_is_refused(source: Path, draw: Any, out: Path) -> None:
    draw.photo(source / "images" / "p01.png")
    (source / "masks").mkdir()
    with pytest.raises(DataError, match=r"no usable image .*images/p01.png: no mask.*complete download of folders"):
        import_dataset("folders", source, out)
    assert list(out.parent.iterdir()) == [source]


def test_empty_folders_are_refused(source: Path, out: Path) -> None:
    (source / "images").mkdir()
    (source / "masks").mkdir()
    with pytest.raises(DataError, match=r"no usable image in \S+; is it"):
        import_dataset("folders", source, out)


# All or nothing --------------------------------------------------------------------------------------------------


def test_a_source_that_does_not_exist_is_refused(tmp_path: Path, out: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        import_dataset("folders", tmp_path / "nowhere", out)


def test_a_source_that_may_not_be_read_is_one_sentence(plain: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("endotransfer.data.importers.tree.os.scandir", refuse)
    with pytest.raises(DataError, match=r"cannot read .*Permission denied"):
        import_dataset("folders", plain, out, masks="")


def test_a_folder_that_holds_something_is_not_touched(plain: Path, out: Path) -> None:
    out.mkdir()
    (out / "mine.txt").write_text("precious")
    with pytest.raises(DataError, match="nothing is overwritten"):
        import_dataset("folders", plain, out)
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_a_file_in_the_place_of_the_folder_is_not_touched(plain: Path, out: Path) -> None:
    out.write_text("precious")
    with pytest.raises(DataError, match="nothing is overwritten"):
        import_dataset("folders", plain, out)
    assert out.read_text() == "precious"


def test_an_empty_folder_and_missing_parents_are_fine(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "empty", tmp_path / "new" / "deep"):
        assert import_dataset("folders", plain, out).images == 2
        assert sorted(path.name for path in out.iterdir()) == ["SOURCE.md", "images", "labels.csv", "masks"]
        assert [path for path in out.parent.iterdir() if path.suffix == ".part"] == []
        assert out.stat().st_mode & 0o777 == 0o755  # what the usual umask leaves


def test_a_strict_umask_holds_for_all_that_is_imported(plain: Path, out: Path) -> None:
    before = os.umask(0o077)
    try:
        import_dataset("folders", plain, out)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o077 for path in [out, *out.rglob("*")]} == {0}


def test_an_interrupted_import_leaves_nothing(plain: Path, out: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_dataset("folders", plain, out, progress=stop)
    assert list(out.parent.iterdir()) == [plain]


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    plain: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DataError, match=r"cannot write .*native: No space left on device"):
        import_dataset("folders", plain, out)
    assert list(out.parent.iterdir()) == [plain]


def test_progress_counts_every_image_skipped_or_not(plain: Path, out: Path) -> None:
    (plain / "images" / "p01.bmp").write_bytes(b"")
    seen: list[tuple[int, int]] = []
    import_dataset("folders", plain, out, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


# Names and options -----------------------------------------------------------------------------------------------


def test_an_unknown_set_gets_the_nearest_name(source: Path, out: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'kvasir-seg'"):
        import_dataset("kvasirseg", source, out)


def test_an_unknown_option_gets_the_nearest_name(source: Path, out: Path) -> None:
    with pytest.raises(ConfigError, match=r"importer 'folders' has no option 'mask'; did you mean 'masks'"):
        import_dataset("folders", source, out, mask="x")
    with pytest.raises(ConfigError, match=r"importer 'folders' has no option 'progress'"):
        import_dataset("folders", source, out, progress="x")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"importer 'kvasir-seg' has no option 'part'; it has none"):
        import_dataset("kvasir-seg", source, out, part="x")


def test_an_unknown_choice_is_refused(source: Path, out: Path) -> None:
    with pytest.raises(ConfigError, match="option part cannot be 'frame'; did you mean 'frames'"):
        import_dataset("polypgen", source, out, part="frame")


@pytest.mark.parametrize("classes", ["polyp", "a,b,a", "a,,b"])
def test_classes_that_could_not_be_read_back_are_refused(plain: Path, out: Path, classes: str) -> None:
    with pytest.raises(DataError, match="2 to 255 different names but are '"):
        import_dataset("folders", plain, out, classes=classes)
    assert not out.exists()


def test_the_options_and_defaults_can_be_listed() -> None:
    assert IMPORTERS.get("polypgen").options() == {"part": "all"}
    assert IMPORTERS.get("kvasir-seg").options() == {}


def test_the_report_reads_as_text() -> None:
    report = ImportReport(3, 2, 1, 2, ["a.png: broken"], {"noise was cut": 2})
    assert str(report) == (
        "3 images (2 lesion, 1 normal), 2 masks\n\nConversions:\n- noise was cut: 2\n\nLeft out: 1\n- a.png: broken"
    )
    assert str(ImportReport()).endswith("Conversions: none\n\nLeft out: nothing")


# Nothing is laundered --------------------------------------------------------------------------------------------


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
