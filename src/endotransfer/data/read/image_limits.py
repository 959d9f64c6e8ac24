"""Limits on input files, checked from a file's header before anything is decoded.

The command line and the viewer share them.
"""

FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")  # decided by content, never by the file's name
PAGED_FORMATS = ("GIF", "HEIF")  # read by an import alone, which takes files of several pictures apart
MAX_PIXELS = 40_000_000  # 120 MB as RGB
MAX_SIDE = 10_000
MAX_FRAMES = 1
MAX_PAGES = 20_000  # that an import takes from one file
MAX_SCANS = 100  # of a JPEG; a progressive one has about ten, and a preview inside it as many
MAX_UPLOAD_BYTES = 20_000_000  # of one file
MAX_PARTS = 4  # of one form

VIDEO_ENDINGS = (".mp4", ".mov", ".avi", ".webm")  # looked for in folders; what a file is, its content decides

_ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")  # an MP4 or QuickTime file may begin with


def video_format(head: bytes) -> str | None:
    """The demuxer for a video that begins with these bytes (12 are enough), or None where it is none of ours.

    Named to the demuxer, never left to it: some formats (playlists) make it open other files and addresses.
    """
    if head[4:8] in _ATOMS:
        return "mov"
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "avi"
    return "matroska" if head[:4] == b"\x1a\x45\xdf\xa3" else None


def oversize(height: int, width: int) -> str | None:
    """What is wrong with an image of this size, or None."""
    if height < 1 or width < 1:
        return f"is {width} x {height} pixels, which is nothing"
    if max(height, width) > MAX_SIDE or height * width > MAX_PIXELS:
        limits = f"{MAX_SIDE:,} a side and {MAX_PIXELS // 1_000_000} million"
        return f"is {width} x {height} pixels, more than {limits}"
    return None


def too_many_frames(frames: int) -> str | None:
    """What is wrong with a file that holds this many pictures, or None."""
    return "holds several pictures instead of one" if frames > MAX_FRAMES else None


def too_many_scans(scans: int) -> str | None:
    """What is wrong with a JPEG that goes over its picture so many times, or None."""
    return f"has {scans} scans, more than {MAX_SCANS}" if scans > MAX_SCANS else None
