"""Pictures of a DICOM file, one frame or many, whatever their compression.  pydicom is imported when first needed."""

import hashlib
import secrets
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.data.read.decode import count_scans
from endotransfer.data.read.image_limits import MAX_SCANS, oversize
from endotransfer.data.read.read_image import ImageReading, to_eight_bits
from endotransfer.errors import ConfigError

if TYPE_CHECKING:
    from pydicom import Dataset

_MARK_AT, _MARK = 128, b"DICM"
_META_AT = 144  # behind mark and length of the part that tells how the rest is written
_PIECE = 2**20
_LARGEST_INFLATED = 2**30
_KEY = secrets.token_bytes(16)  # a new one in every process: a number of seven digits is soon found from its plain hash


def is_dicom(path: Path) -> bool:
    """Whether the content says so: such files often have no ending."""
    if not path.is_file():  # to open a pipe is to wait for whoever writes
        return False
    try:
        with path.open("rb") as file:
            file.seek(_MARK_AT)
            return file.read(len(_MARK)) == _MARK
    except OSError:
        return False


def read_dicom_header(path: Path) -> "Dataset":
    """Everything but the pixels."""
    try:
        import pydicom
    except ImportError:
        raise ConfigError("pydicom, which reads DICOM, is not installed; install endotransfer[dicom].") from None
    try:
        _check_inflated(path)
        header = pydicom.dcmread(path, stop_before_pixels=True)
        rows, columns = int(header.Rows), int(header.Columns)
    except FaultError:
        raise
    except (AttributeError, KeyError):
        raise failure("no-picture", path, "is DICOM without a picture", "remove it") from None
    except Exception as reason:  # a damaged file makes the parser raise almost any type
        raise _damaged(path) from reason
    if wrong := oversize(rows, columns):
        raise failure("too-large", path, wrong, "scale it down, or remove it")
    return header


def _check_inflated(path: Path) -> None:
    """A whole file may be deflated, to a thousandth of its size.  What it would take is counted, and not kept."""
    from pydicom.filereader import read_file_meta_info
    from pydicom.uid import DeflatedExplicitVRLittleEndian

    meta = read_file_meta_info(path)
    if meta.get("TransferSyntaxUID") != DeflatedExplicitVRLittleEndian:
        return
    unpacker, length = zlib.decompressobj(-zlib.MAX_WBITS), 0
    with path.open("rb") as file:
        file.seek(_META_AT + int(meta.FileMetaInformationGroupLength))
        while piece := unpacker.unconsumed_tail or file.read(_PIECE):
            length += len(unpacker.decompress(piece, _PIECE))
            if length > _LARGEST_INFLATED:
                what = f"unpacks to more than {_LARGEST_INFLATED / 1e6:,.0f} MB"
                raise failure("too-large", path, what, "export it uncompressed, or in parts")


def _check_scans(path: Path, header: "Dataset") -> None:
    """As of any JPEG; a frame may have one for each colour."""
    from pydicom.uid import JPEGTransferSyntaxes

    if header.file_meta.TransferSyntaxUID not in JPEGTransferSyntaxes:
        return
    scans, frames = count_scans(path), frame_count(header)
    if scans > MAX_SCANS + 4 * frames:
        what = f"has {scans} JPEG scans for {frames} frames"
        raise failure("many-scans", path, what, "export it uncompressed")


def frame_count(header: "Dataset") -> int:
    try:
        return max(1, int(header.get("NumberOfFrames") or 1))
    except (TypeError, ValueError):  # nonsense; the first frame may still be there
        return 1


def hashed_patient(header: "Dataset") -> str:
    """The patient as a keyed hash, which nobody can turn back; '' where the file names none."""
    number = str(header.get("PatientID") or "").strip()
    if not number:
        return ""
    return "dicom-" + hashlib.blake2b(number.encode(), key=_KEY, digest_size=6).hexdigest()


def instance_mark(header: "Dataset") -> str:
    """A hash of the file's own number: whoever holds the file finds it again, and nobody else learns anything."""
    number = str(header.get("SOPInstanceUID") or "").strip()
    return hashlib.blake2b(number.encode(), digest_size=16).hexdigest() if number else ""


def read_dicom_frame(path: Path, header: "Dataset", index: int) -> ImageReading:
    """Frame `index` as 8-bit RGB."""
    from pydicom.pixels.utils import pixel_array

    if header.file_meta.TransferSyntaxUID.name.startswith("MPEG"):
        what = "is a DICOM file with a video inside, which is not read"
        raise failure("dicom-video", path, what, "export it as MP4, or as single frames")
    _check_scans(path, header)
    try:
        values: NDArray[Any] = pixel_array(path, index=index)
        pixels, note = _to_rgb(values, header, path)
    except FaultError:
        raise
    except (RuntimeError, NotImplementedError, ImportError) as reason:  # what decoders say they cannot do
        syntax = header.file_meta.TransferSyntaxUID.name
        what = f"is compressed in a way that cannot be read here ({syntax})"
        fix = "install endotransfer[dicom], or export it uncompressed"
        raise failure("dicom-compression", path, what, fix) from reason
    except Exception as reason:
        raise _damaged(path) from reason
    return ImageReading(pixels, "DICOM", (note,))


def _to_rgb(values: NDArray[Any], header: "Dataset", path: Path) -> tuple[NDArray[np.uint8], str]:
    kind = str(header.get("PhotometricInterpretation", ""))
    if kind == "PALETTE COLOR":
        from pydicom.pixels.processing import apply_color_lut

        values = apply_color_lut(values, header)
    if values.ndim == 2:
        low = min(0, int(values.min()))  # signed values: the darkest becomes black
        grey, bits = to_eight_bits(values.astype(np.int64) - low, path)
        grey = 255 - grey if kind == "MONOCHROME1" else grey
        return np.repeat(grey[..., None], 3, axis=2), f"{bits}-bit grey values of DICOM were scaled to 8 bits"
    if values.ndim != 3 or values.shape[2] != 3:
        raise failure("no-picture", path, f"is DICOM with pixels in {kind or 'an unknown way'}", "export it as PNG")
    if values.dtype != np.uint8:
        values = values >> 8 if int(values.max()) > 255 else values
    return np.ascontiguousarray(values.astype(np.uint8)), "a DICOM picture was saved as PNG"


def _damaged(path: Path) -> FaultError:
    what, fix = "is DICOM that cannot be read (cut short or damaged)", "copy it again from where it came from"
    return failure("damaged", path, what, fix)
