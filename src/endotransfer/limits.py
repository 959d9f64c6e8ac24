"""Limits on what comes from outside, in one place: the command line and the service obey the same ones.

What a single image may be stands in `guard`, which data, prediction and service all read through.
"""

from endotransfer.guard import FORMATS, MAX_FRAMES, MAX_PIXELS, MAX_SIDE

__all__ = [
    "FORMATS", "MAX_FRAMES", "MAX_PARTS", "MAX_PIXELS", "MAX_SIDE", "MAX_UPLOAD_BYTES",
    "MAX_VIDEO_FRAMES", "VIDEO_ENDINGS", "video_format",
]  # fmt: skip

MAX_UPLOAD_BYTES = 20_000_000  # of one file
MAX_PARTS = 4  # of one form

VIDEO_ENDINGS = (".mp4", ".mov", ".avi", ".webm")  # looked for in folders; what a file is, its content decides
MAX_VIDEO_FRAMES = 3_000  # of an uploaded video; the command line takes any number

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
