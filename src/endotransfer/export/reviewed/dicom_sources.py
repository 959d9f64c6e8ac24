"""The DICOM files that images were imported from, found again by the hash that the import left in labels.csv."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from endotransfer.data.read.dicom import instance_mark, is_dicom, read_dicom_header
from endotransfer.errors import DataError

if TYPE_CHECKING:
    from pydicom import Dataset

COLUMN = "dicom"


@dataclass(frozen=True)
class DicomSource:
    """An original: its header, and the number of the frame (from 1 on) that an image shows."""

    header: "Dataset"
    frame: int


class DicomSources:
    """Originals below a folder; none without one."""

    def __init__(self, folder: Path | None) -> None:
        if folder is not None and not folder.is_dir():
            raise DataError(f"there is no folder {folder}; give the folder with the DICOM files that were imported.")
        self._headers: dict[str, Dataset] = {}
        for file in sorted(folder.rglob("*")) if folder else ():
            if file.is_file() and is_dicom(file):
                self._take(file)

    def _take(self, file: Path) -> None:
        try:
            header = read_dicom_header(file)
        except DataError:
            return  # no picture, or damaged: nothing was imported from it
        if mark := instance_mark(header):
            self._headers[mark] = header

    def find(self, cells: Mapping[str, str]) -> DicomSource | None:
        mark, _, frame = cells.get(COLUMN, "").partition("#")
        known = self._headers.get(mark)
        return DicomSource(known, int(frame)) if known is not None and frame.isdecimal() else None
