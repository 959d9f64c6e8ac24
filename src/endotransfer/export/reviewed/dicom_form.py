"""DICOM-SEG: a segmentation for every image that came from DICOM; any other becomes a DICOM image first."""

from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.errors import DataError
from endotransfer.export.reviewed.dicom_sources import DicomSources
from endotransfer.export.reviewed.reviewed_set import Pixels, ReviewedImage, ReviewedSet
from endotransfer.export.reviewed.secondary_capture import SecondaryCaptures
from endotransfer.export.reviewed.segmentation_file import make_segmentation, need_highdicom

if TYPE_CHECKING:
    from pydicom import Dataset


class DicomForm:
    """One image after the other; the segmentations of a source's series are one series too."""

    def __init__(self, folder: Path, reviewed: ReviewedSet, originals: Path | None) -> None:
        need_highdicom()
        self._folder, self._classes = folder, list(reviewed.classes.names)
        self._sources, self._captures = DicomSources(originals), SecondaryCaptures()
        self._series: dict[str, str] = {}
        self.pairs = 0
        (folder / "segmentations").mkdir()

    def add(self, image: ReviewedImage, pixels: Pixels, mask: Pixels) -> str:
        """Write one image; returns the file with its mask."""
        source = self._sources.find(image.cells)
        if source is not None:
            return self._write(source.header, source.frame, image, mask)
        capture = self._captures.make(image, pixels)
        file = self._write(capture, 1, image, mask)
        (self._folder / "images").mkdir(exist_ok=True)
        capture.save_as(self._folder / "images" / f"{image.name}.dcm")
        self.pairs += 1
        return file

    def finish(self) -> None:
        """Everything is written."""

    def _write(self, source: "Dataset", frame: int, image: ReviewedImage, mask: Pixels) -> str:
        import highdicom

        file = f"segmentations/{image.name}.dcm"
        try:
            series = self._series.setdefault(source.SeriesInstanceUID, highdicom.UID())
            made = make_segmentation(source, image, mask, self._classes, frame=frame, series=series)
            made.save_as(self._folder / file)
        except (AttributeError, TypeError, ValueError) as reason:  # what the library misses in a header
            raise DataError(f"its DICOM file cannot be referred to ({reason})") from reason
        return file
