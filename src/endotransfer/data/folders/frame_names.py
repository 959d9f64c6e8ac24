"""The name of a frame of a video among the reviews: `VIDEO.mp4@000123`, its number counted from 0."""

import re
from typing import NamedTuple

LONGEST_VIDEO_NAME = 180  # bytes; a record's name adds an ending and, while it is written, two more
_NAME = re.compile(r"(?P<video>.+)@(?P<number>[0-9]{6,9})", re.DOTALL)


class FrameName(NamedTuple):
    video: str  # name of the file, with its ending
    number: int


def frame_name(video: str, number: int) -> str:
    return f"{video}@{number:06d}"


def parse_frame_name(name: str) -> FrameName | None:
    """The video and the number in `name`; None where it is no name of a frame."""
    found = _NAME.fullmatch(name)
    return None if found is None else FrameName(found["video"], int(found["number"]))
