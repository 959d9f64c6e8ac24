"""What is found in files, folders and patterns, and the names that results get."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endotransfer.errors import DataError
from endotransfer.predict.inputs import LONGEST, list_inputs, safe_name


def names_of(*given: Path) -> dict[str, Path]:
    return {one.name: one.file for one in list_inputs(given, videos=False)}


def test_images_are_found_in_folders_and_by_name(images: Path) -> None:
    (images / "folder.png").mkdir()
    (images / "deep").mkdir()
    (images / "deep" / "c.JPG").touch()
    (images / "notes.txt").touch()
    assert names_of(images, images / "a.png") == {
        "a": images / "a.png", "b": images / "b.png", "deep-c": images / "deep" / "c.JPG", "a_": images / "a.png",
    }  # fmt: skip


def test_videos_are_found_beside_images(images: Path) -> None:
    for name in ("v.mp4", "w.MOV", "x.avi", "y.webm", "z.mkv"):
        (images / name).touch()
    assert [one.name for one in list_inputs([images]) if one.video] == ["v", "w", "x", "y"]


def test_pictures_that_only_an_import_reads_are_counted(images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (images / "deep").mkdir()
    for name in ("._a.png", "v.mp4", "notes.txt"):
        (images / name).touch()
    assert [one.name for one in list_inputs([images])] == ["a", "b", "v"]
    assert len(list_inputs([images], videos=False)) == 2 and capsys.readouterr().err == ""
    for name in ("x.dcm", "deep/y.HEIC", "z.gif"):
        (images / name).touch()
    assert len(list_inputs([images])) == 3
    said = capsys.readouterr().err
    assert said.startswith("note: 3 files with pictures in ")
    assert "(.dcm 1, .gif 1, .heic 1; first: deep/y.HEIC); `endotransfer data import folders` reads" in said


def test_patterns_are_matched(images: Path) -> None:
    (images / "deep").mkdir()
    (images / "deep" / "c.png").touch()
    (images / "notes.txt").touch()
    assert [one.name for one in list_inputs([images / "?.png"])] == ["a", "b"]
    assert [one.name for one in list_inputs([images / "**" / "*"])] == ["a", "b", "c"]
    with pytest.raises(DataError, match="no image in"):
        list_inputs([images / "*.bmp"])


def test_of_a_native_folder_only_the_images_are_predicted(images: Path, tmp_path: Path) -> None:
    native = tmp_path / "native"
    (native / "masks").mkdir(parents=True)
    shutil.copytree(images, native / "images")
    shutil.copy(images / "a.png", native / "masks" / "m.png")
    assert names_of(native).keys() == names_of(images).keys()


def test_a_place_without_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no image in"):
        list_inputs([tmp_path], videos=False)
    with pytest.raises(DataError, match="there is no"):
        list_inputs([tmp_path / "none"], videos=False)


@given(st.text(max_size=150))
def test_a_safe_name_is_a_file_name_anywhere(text: str) -> None:
    name = safe_name(text)
    assert 0 < len(name.encode()) <= LONGEST
    assert not set(name) & set('/\\<>:"|?*\0\n\r\t\x1b') and name not in (".", "..")
    assert safe_name(name) == name


def test_long_names_stay_apart() -> None:
    assert safe_name("x" * 200 + "1") != safe_name("x" * 200 + "2")
