"""A folder as it comes from a hospital: nested, in German, in every format, with something wrong in every corner."""

import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

SIZE = (48, 64)
Pixels = NDArray[np.uint8]


def photo(seed: int) -> Pixels:
    """A smooth picture that looks like no other seed's."""
    coarse = np.random.default_rng(seed).integers((120, 50, 40), (230, 120, 100), (12, 16, 3), dtype=np.uint8)
    return np.array(Image.fromarray(coarse).resize(SIZE[::-1], Image.Resampling.BICUBIC))


def blob() -> Pixels:
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    return np.where((y - 20) ** 2 + (x - 30) ** 2 < 144, 255, 0).astype(np.uint8)


def save(path: Path, pixels: Pixels, **how: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **how)  # type: ignore[arg-type]


def save_dicom(path: Path, frames: list[Pixels], patient: str) -> None:
    """Uncompressed colour frames, as an endoscopy tower writes them."""
    pydicom = pytest.importorskip("pydicom")
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset = pydicom.Dataset()
    dataset.file_meta = pydicom.dataset.FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    dataset.SOPClassUID = dataset.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.77.1.1"
    dataset.SOPInstanceUID = dataset.file_meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()
    dataset.PatientID, dataset.PatientName = patient, "Muster^Max"
    dataset.Rows, dataset.Columns = SIZE
    dataset.SamplesPerPixel, dataset.PhotometricInterpretation, dataset.PlanarConfiguration = 3, "RGB", 0
    dataset.BitsAllocated = dataset.BitsStored = 8
    dataset.HighBit, dataset.PixelRepresentation, dataset.NumberOfFrames = 7, 0, len(frames)
    dataset.PixelData = b"".join(frame.tobytes() for frame in frames)
    dataset.save_as(path, enforce_file_format=True)


def save_video(path: Path, frames: list[Pixels], rate: int = 2) -> None:
    av = pytest.importorskip("av")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=rate)
        stream.height, stream.width = SIZE
        stream.pix_fmt = "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))


def build(root: Path) -> Path:
    """The folder `root` and the table in it, whose path is returned."""
    rows: list[str] = []
    seed = iter(range(10_000))

    def add(patient: str, name: str, finding: str, write: Callable[[Path, Pixels], None] = save) -> None:
        write(root / "Bilder" / patient / name, photo(next(seed)))
        rows.append(f"{name.swapcase() if name.isascii() else name};{finding};{patient}")

    for number in range(1, 9):
        add(f"Patient_{number:02}", f"IMG_{number:02}_1.JPG", "Polyp")
        add(f"Patient_{number:02}", f"IMG_{number:02}_2.png", "unauffällig")
    for number in range(1, 4):
        save(root / "Masken" / f"Patient_{number:02}" / f"IMG_{number:02}_1_mask.PNG", blob())
    _add_umlauts(root, rows)
    _add_many_in_one(root, rows)
    _add_faults(root, rows)
    table = root / "Befunde.csv"
    table.write_bytes("\r\n".join(["Dateiname;Befund;Patient_ID", *rows]).encode("cp1252", "replace"))
    return table


def _add_umlauts(root: Path, rows: list[str]) -> None:
    """The same letter in both of its forms: one of the image, the other of the mask and of the table."""
    save(root / "Bilder/Patient_01" / unicodedata.normalize("NFD", "Gerät.png"), photo(100))
    save(root / "Masken/Patient_01" / unicodedata.normalize("NFC", "Gerät.png"), blob())
    rows.append("Gerät.png;Polyp;Patient_01")


def _add_many_in_one(root: Path, rows: list[str]) -> None:
    pages = [Image.fromarray(photo(200 + page)) for page in range(3)]
    pages[0].save(root / "Bilder/Patient_02/Serie.TIF", save_all=True, append_images=pages[1:])
    pages[0].convert("P").save(root / "Bilder/Patient_02/Film.gif", save_all=True, append_images=pages[1:])
    save_dicom(root / "Bilder/Patient_03/still.dcm", [photo(300)], "4711")
    save_dicom(root / "Bilder/Patient_03/run.dcm", [photo(301), photo(302)], "4711")
    save_video(root / "Bilder/Patient_04/Koloskopie.mp4", [photo(400 + n // 2) for n in range(8)])
    rows += ["Serie.tif;Polyp;Patient_02", "Film.gif;nein;Patient_02", "still.dcm;Polyp;Patient_03"]
    rows += ["run.dcm;1;Patient_03", "Koloskopie.mp4;Polyp;Patient_04"]


def _add_faults(root: Path, rows: list[str]) -> None:
    for name, mask in {
        "Foto_als_Maske": photo(999), "Verkehrt": 255 - blob(), "Andere_Groesse": blob()[:40], "Widerspruch": blob(),
    }.items():  # fmt: skip
        save(root / f"Bilder/Patient_05/{name}.png", photo(500 + len(name)))
        save(root / f"Masken/Patient_05/{name}.png", mask)
        rows.append(f"{name}.png;{'nein' if name == 'Widerspruch' else 'Polyp'};Patient_05")
    save(root / "Masken/Patient_05/ohne_Bild.png", blob())
    (root / "Bilder/Patient_06/kaputt.jpg").write_bytes(b"\xff\xd8\xff\xe0 cut short")
    (root / "Bilder/Patient_06/Bericht.pdf").write_bytes(b"%PDF")
    save(root / "Bilder/Patient_06/ohne_Zeile.png", photo(600))
    rows += ["kaputt.jpg;Polyp;Patient_06", "fehlt.png;Polyp;Patient_06", "IMG_07_9.png;;Patient_07"]
    save(root / "Bilder/Patient_08/Rätsel.png", photo(601))
    rows.append("Rätsel.png;fraglich;Patient_08")
