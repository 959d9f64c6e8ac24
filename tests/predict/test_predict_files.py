"""Predicting files: what is written, and what is said of files that cannot be read."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.importers.outlines import outline_mask
from endotransfer.errors import DataError
from endotransfer.predict import predict_files as files
from endotransfer.predict.predict_files import predict_files
from tests.predict.conftest import MakeVideo, TopHalf, break_packet


@pytest.fixture(autouse=True)
def _top_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "load", lambda *_, **__: TopHalf())


def rows_of(table: Path) -> list[dict[str, Any]]:
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def json_of(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "predictions.json").read_text())
    return content


def test_every_image_gets_a_mask_an_overlay_and_a_row(images: Path, tmp_path: Path) -> None:
    rows = rows_of(predict_files(tmp_path, [images], tmp_path / "out"))
    assert [row["name"] for row in rows] == ["a", "b"]
    assert float(rows[0]["share_lesion"]) == 0.5
    assert float(rows[0]["lesion_probability"]) == 0.75
    assert (rows[0]["area_lesion"], rows[0]["lesions"], rows[0]["boxes"]) == ("24", "1", "0 0 6 4")
    mask = np.asarray(Image.open(tmp_path / "out" / "masks" / "a.png"))
    assert mask[0].tolist() == [255] * 6 and mask[7].tolist() == [0] * 6
    assert np.asarray(Image.open(tmp_path / "out" / "overlays" / "b.png")).shape == (8, 6, 3)


def test_the_json_says_the_same_to_programs(images: Path, tmp_path: Path) -> None:
    predict_files(tmp_path, [images], tmp_path / "out")
    content = json_of(tmp_path / "out")
    assert content["faults"] == [] and "not a medical device" in content["note"]
    picture = content["pictures"][1]
    assert (picture["name"], picture["width"], picture["height"]) == ("b", 6, 8)
    assert picture["area"] == {"normal": 24, "lesion": 24}
    (lesion,) = picture["lesions"]
    assert (lesion["class"], lesion["box"], lesion["area"]) == ("lesion", [0, 0, 6, 4], 24)
    assert lesion["confidence"] == pytest.approx(0.8) == picture["confidence"]


def test_images_of_many_sizes_come_out_in_order_and_at_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "sizes"
    folder.mkdir()
    for index in range(9):
        Image.fromarray(np.zeros((4 + index, 20 - index, 3), np.uint8)).save(folder / f"{index}.png")
    rows = rows_of(predict_files(tmp_path, [folder], tmp_path / "out", batch=4))
    assert [row["name"] for row in rows] == [str(index) for index in range(9)]
    for index in range(9):
        assert Image.open(tmp_path / "out" / "masks" / f"{index}.png").size == (20 - index, 4 + index)


def test_some_images_that_cannot_be_read_are_named(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "b.png").write_bytes(b"no image")
    assert len(rows_of(predict_files(tmp_path, [images], tmp_path / "out"))) == 1
    output = capsys.readouterr().out.replace("\n", "")
    assert "not predicted:" in output and "b.png" in output and "1 of 2 images predicted" in output
    assert [fault["name"] for fault in json_of(tmp_path / "out")["faults"]] == ["b"]


def test_it_is_an_error_when_none_can_be_read(images: Path, tmp_path: Path) -> None:
    for image in images.iterdir():
        image.write_bytes(b"no image")
    with pytest.raises(DataError, match=r"none of the 2 images could be predicted; the first reason: .*a\.png"):
        predict_files(tmp_path, [images], tmp_path / "out")
    assert rows_of(tmp_path / "out" / "predictions.csv") == []


def test_nothing_is_overwritten(images: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not empty"):
        predict_files(tmp_path, [images], images)


@pytest.mark.parametrize("form", ["rle", "polygons"])
def test_the_coco_file_holds_the_masks(images: Path, tmp_path: Path, form: Any) -> None:
    predict_files(tmp_path, [images], tmp_path / "out", masks=form, overlays=False)
    content = json.loads((tmp_path / "out" / "masks.coco.json").read_text())
    assert not (tmp_path / "out" / "masks").exists() and not (tmp_path / "out" / "overlays").exists()
    assert content["categories"] == [{"id": 1, "name": "lesion"}]
    assert [image["file_name"] for image in content["images"]] == [str(images / "a.png"), str(images / "b.png")]
    mask = outline_mask(content["annotations"][0]["segmentation"], (8, 6))
    assert mask[:4].all() and not mask[4:].any()


def test_no_masks_where_none_are_wanted(images: Path, tmp_path: Path) -> None:
    predict_files(tmp_path, [images], tmp_path / "out", masks="none")
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == [
        "overlays", "predictions.csv", "predictions.json",
    ]  # fmt: skip


def test_more_classes_are_written_by_their_index(images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Three(TopHalf):
        classes = ["normal", "polyp", "ulcer"]  # noqa: RUF012

    monkeypatch.setattr(files, "load", lambda *_, **__: Three())
    predict_files(tmp_path, [images], tmp_path / "out")
    assert np.unique(np.asarray(Image.open(tmp_path / "out" / "masks" / "a.png"))).tolist() == [0, 1]


@pytest.mark.parametrize(
    "name", ["=cmd()", "-rf", "line\nbreak", "..", "a:b|c", "é" * 120, os.fsdecode(b"no-text-\xff"), "[bold]x"]
)
def test_hostile_names_do_no_harm(tmp_path: Path, name: str, images: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = tmp_path / f"{name}.png"
    image.write_bytes((images / "a.png").read_bytes())
    out = tmp_path / "out"
    (row,) = rows_of(predict_files(tmp_path, [image], out))
    assert not row["name"].startswith(("=", "-"))
    (mask,) = (out / "masks").iterdir()
    assert mask.resolve().parent == (out / "masks").resolve() and "\n" not in mask.name
    assert Image.open(mask).size == (6, 8)
    json_of(out)
    assert capsys.readouterr().out


def test_a_video_among_images(images: Path, make_video: MakeVideo, tmp_path: Path, capsys: Any) -> None:
    make_video("v.mp4", frames=6)
    out = tmp_path / "out"
    rows = rows_of(predict_files(tmp_path, [images, tmp_path / "v.mp4"], out))
    assert [row["frame"] for row in rows] == ["", "", "0", "1", "2", "3", "4", "5"]
    assert float(rows[4]["seconds"]) == pytest.approx(2 / 25)
    assert sorted(path.name for path in (out / "masks").iterdir()) == ["a.png", "b.png"]
    assert [path.name for path in (out / "videos").iterdir()] == ["v.mp4"]
    output = capsys.readouterr().out.replace("\n", "")
    assert "6 of 6 frames" in output
    assert all(stage in output for stage in ("decode", "inference", "draw", "encode"))


def test_masks_of_frames_are_written_when_asked_for(make_video: MakeVideo, tmp_path: Path) -> None:
    predict_files(tmp_path, [make_video("v.mp4", frames=3)], tmp_path / "png", masks="png")
    assert sorted(path.name for path in (tmp_path / "png" / "masks" / "v").iterdir()) == [
        "000000.png", "000001.png", "000002.png",
    ]  # fmt: skip
    predict_files(tmp_path, [tmp_path / "v.mp4"], tmp_path / "rle", masks="rle")
    content = json.loads((tmp_path / "rle" / "masks.coco.json").read_text())
    assert [image["file_name"] for image in content["images"]] == [f"v/{index:06d}.png" for index in range(3)]


def test_a_video_that_is_none_is_reported_and_the_rest_goes_on(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "fake.mp4").write_bytes(b"#EXTM3U\nhttp://example.org/secret\n")
    assert len(rows_of(predict_files(tmp_path, [images], tmp_path / "out"))) == 2
    assert "is not an MP4, MOV, AVI or WebM video" in capsys.readouterr().out.replace("\n", " ")
    with pytest.raises(DataError, match="none of the 1 videos could be predicted"):
        predict_files(tmp_path, [images / "fake.mp4"], tmp_path / "other")


@pytest.mark.parametrize("further", [0, 40])
def test_a_video_without_a_readable_frame_is_reported(
    further: int, images: Path, make_video: MakeVideo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video = make_video("v.webm", codec="libvpx-vp9", frames=9)
    raw = video.read_bytes()
    video.write_bytes(raw[: raw.index(b"\x1f\x43\xb6\x75") + further])  # up to the first cluster of frames
    predict_files(tmp_path, [images, video], tmp_path / "out")
    (fault,) = json_of(tmp_path / "out")["faults"]
    assert fault["name"] == "v" and "v.webm" in fault["reason"]
    assert not list((tmp_path / "out").rglob("*.mp4"))
    assert "not predicted:" in capsys.readouterr().out


def test_many_lost_frames_are_told_in_a_few_lines(
    make_video: MakeVideo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    video = make_video("v.avi", codec="mjpeg", pixel_format="yuvj420p", frames=12)
    for index in range(2, 10):
        break_packet(video, index)
    rows = rows_of(predict_files(tmp_path, [video], tmp_path / "out"))
    faults = json_of(tmp_path / "out")["faults"]
    assert [fault["frame"] for fault in faults] == list(range(2, 10)) and len(rows) == 4
    output = capsys.readouterr().out
    assert output.count("not predicted:") == 6 and "3 more of" in output and "predictions.json" in output
