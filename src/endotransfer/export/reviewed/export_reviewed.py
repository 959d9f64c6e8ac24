"""Write the reviewed images of a folder in another form; the whole export or nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, get_args

from endotransfer.data.importers.native_writer import new_folder, require_new
from endotransfer.errors import ConfigError, DataError
from endotransfer.export.reviewed.coco_form import CocoForm
from endotransfer.export.reviewed.decision_table import write_decisions
from endotransfer.export.reviewed.dicom_form import DicomForm
from endotransfer.export.reviewed.export_errors import NothingReviewedError
from endotransfer.export.reviewed.export_report import ExportReport
from endotransfer.export.reviewed.native_form import NativeForm
from endotransfer.export.reviewed.reviewed_set import Pixels, ReviewedImage, ReviewedSet, collect_reviewed
from endotransfer.registry import nearest

Form = Literal["native", "coco", "dicom-seg"]
FORMS: tuple[Form, ...] = get_args(Form)
Progress = Callable[[int, int], None]


class _Writer(Protocol):
    def add(self, image: ReviewedImage, pixels: Pixels, mask: Pixels) -> str: ...

    def finish(self) -> None: ...


def export_reviewed(
    folder: Path, form: str, out: Path, *, originals: Path | None = None, progress: Progress | None = None
) -> ExportReport:
    """`out`: a new or empty folder.  `originals`: the DICOM files that images were imported from (dicom-seg alone)."""
    if form not in FORMS:
        raise ConfigError(f"reviews are not exported as '{form}'; {nearest(form, list(FORMS))}")
    if originals is not None and form != "dicom-seg":
        raise ConfigError(f"DICOM originals are of use for dicom-seg alone; leave them out for {form}.")
    require_new(out)
    report = ExportReport(form)
    reviewed = collect_reviewed(folder)
    report.left_out |= reviewed.left_out
    with new_folder(out) as part:
        writer = _writer(form, part, reviewed, originals)
        written = _add_all(reviewed, writer, report, progress)
        writer.finish()
        reviewed.frames.close()
        if isinstance(writer, DicomForm) and writer.pairs:
            report.notes.append(
                f"{writer.pairs} of the images had no DICOM original here, and a segmentation must refer to a DICOM "
                "image: each was written as a secondary capture with its segmentation."
            )
        report.images = len(written)
        if not written:
            raise NothingReviewedError(
                f"no image of {folder} has a reviewed mask to export{_first(report)}; review some in the viewer."
            )
        write_decisions(part, written)
    return report


def _first(report: ExportReport) -> str:
    return next((f" ({name}: {reason})" for name, reason in report.left_out.items()), "")


def _writer(form: str, part: Path, reviewed: ReviewedSet, originals: Path | None) -> _Writer:
    if form == "dicom-seg":
        return DicomForm(part, reviewed, originals)
    return CocoForm(part, reviewed) if form == "coco" else NativeForm(part, reviewed)


def _add_all(
    reviewed: ReviewedSet, writer: _Writer, report: ExportReport, progress: Progress | None
) -> list[tuple[ReviewedImage, str]]:
    written = []
    for done, image in enumerate(reviewed.images, start=1):
        try:
            pixels = reviewed.pixels(image)
            mask = reviewed.mask(image, pixels.shape)
            written.append((image, writer.add(image, pixels, mask)))
        except DataError as reason:
            report.left_out[image.name] = str(reason)
        if progress is not None:
            progress(done, len(reviewed.images))
    return written
