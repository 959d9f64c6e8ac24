"""CVC-ClinicDB: Original/ and 'Ground Truth'/ with equal names 1..612, as TIFF or (some mirrors) PNG.

A mirror with PNG/ and TIF/ beside each other holds the set twice: the user names the one wanted.
"""

from bisect import bisect_right

from endotransfer.data.importers.paired_folders import paired_importer

# The first frame of each of the 29 sequences.  Frames of one sequence are near copies of each other.
FIRST_FRAMES = (
    *(1, 26, 51, 68, 79, 104, 127, 152, 178, 200, 206, 228, 253, 278, 298),
    *(318, 343, 364, 384, 409, 429, 448, 467, 479, 504, 529, 547, 572, 592),
)
FRAMES = 612


def sequence(stem: str) -> str:
    """The sequence of a frame, from its number; '' where the name is not one of the set's."""
    if not stem.isdecimal() or not 1 <= int(stem) <= FRAMES:
        return ""
    return f"sequence-{bisect_right(FIRST_FRAMES, int(stem)):02d}"


paired_importer(
    "cvc-clinicdb", images="Original", masks="Ground Truth", sequence=sequence,
    summary="612 colonoscopy frames of polyps from 29 sequences, with masks",
    url="https://polyp.grand-challenge.org/CVCClinicDB/", terms="research and education; the paper must be cited",
    cite="Bernal et al., WM-DOVA maps for accurate polyp highlighting in colonoscopy, CMIG 2015",
)  # fmt: skip
