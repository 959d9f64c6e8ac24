"""An image that was never DICOM as a DICOM secondary capture, for a segmentation must refer to some DICOM image."""

from typing import TYPE_CHECKING

from endotransfer.export.reviewed.reviewed_set import Pixels, ReviewedImage
from endotransfer.export.reviewed.segmentation_file import MAKER, UTF8

if TYPE_CHECKING:
    from highdicom.sc import SCImage


class SecondaryCaptures:
    """Images of one patient are one study with one series."""

    def __init__(self) -> None:
        self._series: dict[str, tuple[str, str]] = {}
        self._made = 0

    def make(self, image: ReviewedImage, pixels: Pixels) -> "SCImage":
        """Uncompressed RGB, pixel for pixel; no name, date or place of anybody."""
        import highdicom

        patient = image.cells.get("patient") or image.cells.get("sequence") or image.name
        study, series = self._series.setdefault(patient, (highdicom.UID(), highdicom.UID()))
        self._made += 1
        capture = highdicom.sc.SCImage(
            pixel_array=pixels,
            photometric_interpretation="RGB",
            bits_allocated=8,
            coordinate_system="PATIENT",
            study_instance_uid=study,
            series_instance_uid=series,
            series_number=1,
            sop_instance_uid=highdicom.UID(),
            instance_number=self._made,
            manufacturer=MAKER,
            patient_id=patient[:64].replace("\\", "_"),
            patient_orientation=("L", "F"),
        )
        capture.PatientOrientation = []  # asked for by the library; in endoscopy nobody knows it
        capture.SpecificCharacterSet = UTF8
        capture.ImageComments = image.name
        return capture
