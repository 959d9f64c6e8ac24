"""DICOM-SEG: read back by highdicom and pydicom, it holds the reviewed masks and refers to the right instance."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from endotransfer.data.importers import import_dataset
from endotransfer.errors import ConfigError
from endotransfer.export.reviewed import export_reviewed
from tests.cli.hospital import photo, save_dicom
from tests.export.reviewed_folder import Mask, build, decide, picture, ring, unsure

highdicom = pytest.importorskip("highdicom")
pydicom = pytest.importorskip("pydicom")


def complete(path: Path) -> Any:
    """Add what a hospital's file has and the small one of the tests has not."""
    dataset = pydicom.dcmread(path)
    dataset.StudyInstanceUID, dataset.SeriesInstanceUID = pydicom.uid.generate_uid(), pydicom.uid.generate_uid()
    dataset.SpecificCharacterSet, dataset.PatientName = "ISO_IR 100", "Müller^Änne"
    dataset.PatientBirthDate = dataset.PatientSex = dataset.AccessionNumber = dataset.StudyID = ""
    dataset.StudyDate, dataset.StudyTime = "20260102", "101112"
    dataset.Modality, dataset.SeriesNumber, dataset.InstanceNumber = "ES", 1, 1
    dataset.save_as(path)
    return dataset


@pytest.fixture
def hospital(tmp_path: Path) -> tuple[Path, Path, Any, Any]:
    """(originals, imported folder, still, run of three frames)."""
    source = tmp_path / "dicom"
    save_dicom(source / "still.dcm", [photo(1)], "4711")
    save_dicom(source / "run.dcm", [photo(2), photo(3), photo(4)], "4711")
    files = [complete(source / f"{name}.dcm") for name in ("still", "run")]
    import_dataset("folders", source, tmp_path / "native", images=".", masks="")
    return source, tmp_path / "native", *files


def read_mask(file: Path) -> tuple[Any, Any, Mask]:
    """The file, what its frame refers to, and its mask [H, W] with 255 for the undecided."""
    seg = highdicom.seg.segread(file)
    named = {number: seg.get_segment_description(number).segment_label for number in seg.segment_numbers}
    mask = np.zeros((seg.Rows, seg.Columns), np.uint8)
    source = seg.ReferencedSeriesSequence[0].ReferencedInstanceSequence[0].ReferencedSOPInstanceUID
    labels = seg.get_pixels_by_source_instance([source], combine_segments=True)[0]
    for number, name in named.items():
        mask[labels == number] = 255 if name == "not decided" else number
    group = seg.PerFrameFunctionalGroupsSequence[0]
    return seg, group.DerivationImageSequence[0].SourceImageSequence[0], mask


def raw_mask(file: Path, segment: int) -> Any:
    """One segment's pixels by pydicom alone."""
    seg = pydicom.dcmread(file)
    frames = seg.pixel_array.reshape(-1, seg.Rows, seg.Columns)
    shared = seg.SharedFunctionalGroupsSequence[0]
    for group, frame in zip(seg.PerFrameFunctionalGroupsSequence, frames, strict=True):
        named = group if "SegmentIdentificationSequence" in group else shared
        if named.SegmentIdentificationSequence[0].ReferencedSegmentNumber == segment:
            return frame
    raise AssertionError("there is no such segment")


def test_a_mask_refers_to_the_instance_that_its_image_came_from(
    hospital: tuple[Path, Path, Any, Any], tmp_path: Path
) -> None:
    source, folder, still, run = hospital
    assert "4711" not in (folder / "labels.csv").read_text()
    assert still.SOPInstanceUID not in (folder / "labels.csv").read_text()
    size = photo(1).shape[:2]
    decide(folder, "still", unsure(size))
    decide(folder, "run-f0001", ring(size))
    decide(folder, "run-f0002", np.zeros(size, np.uint8))
    report = export_reviewed(folder, "dicom-seg", tmp_path / "out", originals=source)
    assert (report.images, report.left_out, report.notes) == (3, {}, [])
    seg, reference, mask = read_mask(tmp_path / "out/segmentations/still.dcm")
    assert np.array_equal(mask, unsure(size))
    assert np.array_equal(raw_mask(tmp_path / "out/segmentations/still.dcm", 1), unsure(size) == 1)
    assert reference.ReferencedSOPInstanceUID == still.SOPInstanceUID
    assert (seg.StudyInstanceUID, seg.PatientID) == (still.StudyInstanceUID, "4711")
    assert (str(seg.PatientName), str(seg.ContentCreatorName)) == ("Müller^Änne", "Dr. Müller^")
    assert (seg.ContentDate, seg.ContentTime) == ("20261118", "070000")
    for frame, drawn in ((2, ring(size)), (3, np.zeros(size, np.uint8))):
        file = tmp_path / f"out/segmentations/run-f{frame - 1:04}.dcm"
        seg, reference, mask = read_mask(file)
        assert np.array_equal(mask, drawn)
        assert np.array_equal(raw_mask(file, 1), drawn)
        assert (reference.ReferencedSOPInstanceUID, reference.ReferencedFrameNumber) == (run.SOPInstanceUID, frame)


def test_without_the_originals_or_for_other_images_there_are_pairs(tmp_path: Path) -> None:
    drawn = build(tmp_path / "study")
    report = export_reviewed(tmp_path / "study", "dicom-seg", tmp_path / "out")
    assert "3 of the images had no DICOM original here" in report.notes[0]
    for seed, name in enumerate(drawn):
        capture = pydicom.dcmread(tmp_path / f"out/images/{name}.dcm")
        assert np.array_equal(capture.pixel_array, picture(seed))
        seg, reference, mask = read_mask(tmp_path / f"out/segmentations/{name}.dcm")
        assert np.array_equal(mask, drawn[name])
        assert (reference.ReferencedSOPInstanceUID, seg.PatientID) == (capture.SOPInstanceUID, f"p{seed // 2}")


def test_an_original_that_lacks_its_study_is_named(tmp_path: Path) -> None:
    save_dicom(tmp_path / "dicom/still.dcm", [photo(1)], "4711")
    save_dicom(tmp_path / "dicom/other.dcm", [photo(2)], "4711")
    complete(tmp_path / "dicom/other.dcm")
    import_dataset("folders", tmp_path / "dicom", tmp_path / "native", images=".", masks="")
    decide(tmp_path / "native", "still", ring(photo(1).shape[:2]))
    decide(tmp_path / "native", "other", ring(photo(1).shape[:2]))
    report = export_reviewed(tmp_path / "native", "dicom-seg", tmp_path / "out", originals=tmp_path / "dicom")
    assert report.left_out["still"].startswith("its DICOM file cannot be referred to")
    assert report.images == 1


def test_originals_serve_dicom_alone(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="of use for dicom-seg alone"):
        export_reviewed(tmp_path, "coco", tmp_path / "out", originals=tmp_path)
