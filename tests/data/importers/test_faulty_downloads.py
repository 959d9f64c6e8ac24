"""Faulty downloads, interruptions and wrong options: every importer goes through the same writer."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.importers import IMPORTERS, ImportReport, import_dataset
from endotransfer.errors import ConfigError, DataError
from tests.data.importers.conftest import names

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
