"""Reviewed frames of a video leave like any image: as a folder to train on, as COCO, as DICOM-SEG."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endotransfer.data.folders.frame_names import frame_name
from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.folders.review_record import Review
from endotransfer.data.folders.reviewed import propose_review, write_review
from endotransfer.data.read.frame_seeker import FrameSeeker, video_digest
from endotransfer.export.reviewed import export_reviewed
from tests.clips import disc_of, write_clip


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    folder = tmp_path / "ward"
    folder.mkdir()
    video = write_clip(folder / "colon.mp4", frames=20)
    for number in (3, 12):
        review = Review("corrected", "Ada", "2026-11-18T10:00:00+00:00", None, "0", source=video_digest(video))
        write_review(folder, frame_name("colon.mp4", number), review, disc_of(number).astype(np.uint8))
    mask = disc_of(5).astype(np.uint8)
    propose_review(
        folder, frame_name("colon.mp4", 5), mask, carried_from=3, who="Ada", when="now", version="0",
        source=video_digest(video),
    )  # fmt: skip
    return folder


def test_frames_and_masks_are_a_folder_to_train_on(ward: Path, tmp_path: Path) -> None:
    report = export_reviewed(ward, "native", tmp_path / "out")
    assert (report.images, report.left_out) == (2, {})  # what only waits is nobody's word
    for number in (3, 12):
        name = frame_name("colon.mp4", number)
        with (
            FrameSeeker(ward / "colon.mp4") as reader,
            Image.open(tmp_path / "out" / "images" / f"{name}.png") as image,
        ):
            assert np.array_equal(np.asarray(image), reader.read(number))
        with Image.open(tmp_path / "out" / "masks" / f"{name}.png") as mask:
            assert np.array_equal(np.asarray(mask) == 255, disc_of(number))
    samples = read_folder(tmp_path / "out").samples
    assert [sample.image.stem for sample in samples] == ["colon.mp4@000003", "colon.mp4@000012"]
    assert len({sample.group for sample in samples}) == 1  # frames of one video are never parted
    assert all(sample.mask is not None for sample in samples)


@pytest.mark.parametrize("form", ["coco", "dicom-seg"])
def test_other_forms_hold_them_too(ward: Path, tmp_path: Path, form: str) -> None:
    if form == "dicom-seg":
        pytest.importorskip("highdicom")
    report = export_reviewed(ward, form, tmp_path / "out")
    assert report.images == 2
    if form == "coco":
        content = json.loads((tmp_path / "out" / "annotations.json").read_text())
        assert [image["file_name"] for image in content["images"]] == ["colon.mp4@000003.png", "colon.mp4@000012.png"]
        assert [one["area"] for one in content["annotations"]] == [disc_of(3).sum(), disc_of(12).sum()]
    else:
        assert len(list((tmp_path / "out" / "segmentations").iterdir())) == 2


def test_another_video_of_the_same_name_is_noticed(ward: Path, tmp_path: Path) -> None:
    write_clip(ward / "colon.mp4", frames=21)
    with pytest.raises(Exception, match=r"another video is called colon\.mp4 by now"):
        export_reviewed(ward, "native", tmp_path / "out")
    (ward / "colon.mp4").unlink()
    with pytest.raises(Exception, match="there is no image of this name"):
        export_reviewed(ward, "native", tmp_path / "out")
