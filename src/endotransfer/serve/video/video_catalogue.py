"""The videos that can be reviewed: those of the folder, and a few that were dropped on the page."""

import re
import secrets
import shutil
import tempfile
import threading
from dataclasses import asdict, dataclass
from hashlib import blake2b
from math import inf, isfinite
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from endotransfer.batch import Sample
from endotransfer.data.folders.faults import FaultError
from endotransfer.data.folders.frame_names import frame_name
from endotransfer.data.folders.video_files import list_videos
from endotransfer.data.read.frame_seeker import FrameIndex, FrameSeeker, video_digest
from endotransfer.errors import DataError, EndotransferError
from endotransfer.io import read_json_object, write_atomically
from endotransfer.sealed_json import is_intact, sealed
from endotransfer.serve.answers import Refusal, refuse_unknown
from endotransfer.serve.image_catalogue import CatalogueEntry
from endotransfer.serve.video.video_cache import VideoCache

LONGEST = 2 * 3600  # seconds
MOST_UPLOADS = 4
_FRAME = re.compile(r"(?P<video>w?[0-9a-f]{16})-(?P<number>[0-9]{6,9})")


@dataclass(frozen=True)
class VideoFacts:
    """What is known once a video was gone through."""

    digest: str
    height: int
    width: int
    rate: float  # frames a second
    index: FrameIndex

    @property
    def seconds(self) -> float:
        return self.index.times[-1] + 1 / self.rate if self.index.times else 0.0


@dataclass(frozen=True)
class VideoEntry:
    """One video.  `name`: of its file, with the ending."""

    id: str
    name: str
    file: Path
    uploaded: bool = False


_FACTS = TypeAdapter(VideoFacts)


class VideoCatalogue:
    """Videos by ids of ours, and what is known of each."""

    def __init__(self, folder: Path | None, cache: VideoCache) -> None:
        self.cache = cache
        files = {} if folder is None else list_videos(folder)
        self.entries = {
            entry.id: entry for entry in (VideoEntry(_id(name), name, file) for name, file in files.items())
        }
        self._facts: dict[str, tuple[tuple[int, int], VideoFacts]] = {}
        self._uploads = Path(tempfile.mkdtemp(prefix="endotransfer-videos-"))
        self._lock = threading.Lock()

    def find(self, video: str) -> VideoEntry:
        if video not in self.entries:
            raise refuse_unknown("video")
        return self.entries[video]

    def facts(self, entry: VideoEntry) -> VideoFacts:
        """Read once, and again when the file has changed.  Refused with one sentence where it cannot be shown."""
        try:
            status = entry.file.stat()
        except OSError:
            raise Refusal(410, "vanished", f"{entry.name} is no longer there; put it back where it was.") from None
        with self._lock:
            seal, known = (status.st_size, status.st_mtime_ns), self._facts.get(entry.id)
            if known is None or known[0] != seal:
                known = seal, _checked(entry, self._read(entry))
                self._facts[entry.id] = known
            return known[1]

    def frame(self, entry: VideoEntry, number: int) -> CatalogueEntry:
        """A frame as an image like any other: its file is a picture in the cache."""
        facts = self.facts(entry)
        if not 0 <= number < len(facts.index):
            raise refuse_unknown("frame")
        name = frame_name(entry.name, number)
        path = self.cache.picture(facts.digest, number)
        sample = Sample(f"{entry.name}/{name}", path)
        return CatalogueEntry(f"{entry.id}-{number:06d}", name, sample, entry.uploaded, source=facts.digest)

    def find_frame(self, image: str) -> CatalogueEntry | None:
        """The frame that an id of an image names; None where it names none."""
        place = self.place_of(image)
        return None if place is None else self.frame(*place)

    def place_of(self, image: str) -> tuple[VideoEntry, int] | None:
        found = _FRAME.fullmatch(image)
        return (self.find(found["video"]), int(found["number"])) if found else None

    def add(self, content: bytes, name: str) -> VideoEntry:
        """Take a video in; the oldest goes when there are too many."""
        entry = VideoEntry(f"w{secrets.token_hex(8)}", name, self._uploads / secrets.token_hex(8), uploaded=True)
        entry.file.write_bytes(content)
        try:
            self.facts(entry)
        except (Refusal, EndotransferError):
            entry.file.unlink()
            raise
        self.entries[entry.id] = entry
        for old in [one for one in self.entries.values() if one.uploaded][:-MOST_UPLOADS]:
            del self.entries[old.id]
            old.file.unlink(missing_ok=True)
        return entry

    def close(self) -> None:
        shutil.rmtree(self._uploads, ignore_errors=True)

    def _read(self, entry: VideoEntry) -> VideoFacts:
        digest = video_digest(entry.file)
        known = self.cache.folder_of(digest) / "video.json"
        try:
            return kept_facts(known)
        except DataError:  # nothing, or nothing of use: it is made anew
            pass
        with FrameSeeker(entry.file) as reader:
            facts = VideoFacts(digest, reader.height, reader.width, float(reader.rate), reader.make_index())
        self.cache.prepare(digest)
        write_atomically(known, sealed(asdict(facts)), DataError)
        return facts


def kept_facts(path: Path) -> VideoFacts:
    """What video.json holds; an error where that is not what was written, or makes no sense."""
    found = read_json_object(path, DataError)
    try:
        facts = _FACTS.validate_python({key: value for key, value in found.items() if key != "checksum"})
    except ValidationError as reason:
        raise DataError(f"{path} is damaged; remove it.") from reason
    times, stamps = facts.index.times, facts.index.stamps
    sound = 0 < facts.rate < inf and all(map(isfinite, times)) and (stamps is None or len(stamps) == len(times))
    if not is_intact(found) or not sound:
        raise DataError(f"{path} is damaged; remove it.")
    return facts


def _checked(entry: VideoEntry, facts: VideoFacts) -> VideoFacts:
    if not facts.index.times:
        raise FaultError("no frames")
    if facts.seconds > LONGEST:
        hours = LONGEST // 3600
        raise Refusal(413, "too-long", f"{entry.name} is longer than {hours} hours; cut it, and review its parts.")
    return facts


def _id(name: str) -> str:
    return blake2b(name.encode(), digest_size=8).hexdigest()
