"""A DICOM Segmentation (SEG) of one picture, made by highdicom."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from endotransfer import __version__
from endotransfer.data.class_colours import colour_table
from endotransfer.data.importers.coco_file import NOT_DECIDED
from endotransfer.data.read.dicom import frame_count
from endotransfer.export.reviewed.export_errors import HighdicomMissingError
from endotransfer.export.reviewed.reviewed_set import Pixels, ReviewedImage
from endotransfer.label_values import IGNORE

if TYPE_CHECKING:
    from highdicom.seg import Segmentation, SegmentDescription
    from pydicom import Dataset

UTF8 = "ISO_IR 192"
MAKER = "endotransfer"


def need_highdicom() -> None:
    try:
        import highdicom  # noqa: F401
    except ImportError:
        sentence = "highdicom, which writes DICOM, is not installed; install endotransfer[dicom]."
        raise HighdicomMissingError(sentence) from None


def make_segmentation(
    source: "Dataset", image: ReviewedImage, mask: Pixels, classes: Sequence[str], *, frame: int = 1, series: str
) -> "Segmentation":
    """Segment k is class k; one more holds the undecided pixels.  Patient and study are those of `source`.

    `frame`: the one of `source` that was reviewed, from 1 on.  A reviewed frame is a segmentation of its own: pictures
    of an endoscope have no place in space, and without one highdicom takes one frame at a time.
    """
    import highdicom
    from pydicom.valuerep import DA, TM

    version, several = image.version, frame_count(source) > 1
    labels = np.where(mask == IGNORE, len(classes), mask).astype(np.uint8)
    segmentation = highdicom.seg.Segmentation(
        source_images=[_single(source) if several else source],
        pixel_array=labels[None],
        segmentation_type=highdicom.seg.SegmentationTypeValues.BINARY,
        segment_descriptions=_descriptions(version.model, classes, undecided=bool((mask == IGNORE).any())),
        series_instance_uid=series,
        series_number=9000,
        sop_instance_uid=highdicom.UID(),
        instance_number=frame,
        manufacturer=MAKER,
        manufacturer_model_name=MAKER,
        software_versions=__version__,
        device_serial_number="none",
        content_description="mask reviewed by a person; research use only",
        content_creator_name=person_name(version.who),
        content_label="REVIEWED",
        series_description="reviewed masks",
        omit_empty_frames=False,
    )
    if several:
        _refer_to_frame(segmentation, frame)
    segmentation.SpecificCharacterSet = UTF8
    when = datetime.fromisoformat(version.when)
    segmentation.ContentDate, segmentation.ContentTime = DA(when.date()), TM(when.time())
    return segmentation


def _single(source: "Dataset") -> "Dataset":
    """The header as that of one of its frames."""
    from pydicom import Dataset

    single = Dataset()
    single.update(source)
    single.file_meta = source.file_meta
    del single.NumberOfFrames
    return single


def _refer_to_frame(segmentation: "Segmentation", frame: int) -> None:
    shared, each = segmentation.SharedFunctionalGroupsSequence, segmentation.PerFrameFunctionalGroupsSequence
    for group in (*shared, *each):
        for derivation in group.get("DerivationImageSequence", ()):
            for reference in derivation.SourceImageSequence:
                reference.ReferencedFrameNumber = frame


def person_name(who: str) -> str:
    """A reviewer as DICOM writes people: one component of at most 64 letters, none of which parts a name."""
    return re.sub(r"[\\^=]", " ", who)[:63] + "^"


def _descriptions(model: str | None, classes: Sequence[str], *, undecided: bool) -> list["SegmentDescription"]:
    import highdicom
    from pydicom.sr.codedict import codes
    from pydicom.sr.coding import Code

    kinds = highdicom.seg.SegmentAlgorithmTypeValues
    how = highdicom.AlgorithmIdentificationSequence(
        name=(model or "none")[:64], family=codes.DCM.ArtificialIntelligence, version=__version__
    )
    abnormal = Code("49755003", "SCT", "Morphologically Abnormal Structure")
    lesion = Code("52988006", "SCT", "Lesion")
    unknown = Code("not-decided", "99ENDOTRANSFER", "Not decided")
    names = [(name, abnormal, lesion) for name in classes[1:]]
    names += [(NOT_DECIDED, Code("309825002", "SCT", "Spatial and Relational Concept"), unknown)] if undecided else []
    colours = colour_table().tolist()
    return [
        highdicom.seg.SegmentDescription(
            segment_number=number,
            segment_label=name[:64],
            segmented_property_category=category,
            segmented_property_type=kind,
            algorithm_type=kinds.SEMIAUTOMATIC if model else kinds.MANUAL,
            algorithm_identification=how if model else None,
            display_color=highdicom.color.CIELabColor.from_rgb(*colours[IGNORE if name == NOT_DECIDED else number]),
        )
        for number, (name, category, kind) in enumerate(names, start=1)
    ]
