"""All that can be done with videos: shown, predicted frame by frame, masks carried."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from endotransfer.data.folders.frame_names import frame_name, parse_frame_name
from endotransfer.data.folders.review_masks import reviews_folder
from endotransfer.data.folders.review_record import ReviewRecord, in_force
from endotransfer.data.folders.reviewed import read_version_mask
from endotransfer.data.read.frame_seeker import FrameSeeker
from endotransfer.data.read.shot import Pixels
from endotransfer.errors import ConfigError, EndotransferError
from endotransfer.serve.answers import Refusal, refuse_fault
from endotransfer.serve.predictions import Predictions
from endotransfer.serve.review_state import known_record
from endotransfer.serve.video.carrying import CarriedDecision, Carrying
from endotransfer.serve.video.video_cache import FrameStore, VideoCache
from endotransfer.serve.video.video_catalogue import VideoCatalogue, VideoEntry, VideoFacts
from endotransfer.serve.video.video_walk import MOST, WALK, VideoWalk, WalkProgress, frames_at, last_walk

Figures = dict[int, tuple[float, float]]  # frame -> area, doubt


class VideoDesk:
    """One video is predicted at a time, one mask carried at a time."""

    def __init__(self, folder: Path | None, cache: VideoCache, somebody_waits: Callable[[], bool]) -> None:
        self.folder, self._cache, self._waits = folder, cache, somebody_waits
        self.catalogue = VideoCatalogue(folder, cache)
        self._walk: tuple[str, VideoWalk] | None = None
        self._carrying: Carrying | None = None

    def show_models(self, predictions: Predictions, store: FrameStore) -> None:
        """From now on these say what is in the frames."""
        self.stop(for_good=False)
        self._walk = None
        self._predictions, self._store = predictions, store
        self._figures: dict[str, Figures] = {}

    def facts(self, entry: VideoEntry) -> VideoFacts:
        """What is known of a video; what is wrong with it in one sentence that names no path."""
        try:
            return self.catalogue.facts(entry)
        except ConfigError as reason:  # PyAV is not installed
            raise Refusal(409, "no-reader", str(reason)) from None
        except EndotransferError as reason:
            refusal = refuse_fault(reason)
            message = refusal.message.replace("the file", entry.name, 1)
            raise Refusal(refusal.status, refusal.code, message) from None

    def figures(self, entry: VideoEntry) -> Figures:
        """Of every frame that was predicted, in the order in which they became known."""
        if entry.id not in self._figures:
            stored = self._store.all_figures(self.facts(entry).digest)
            self._figures[entry.id] = {number: (found["area"], found["doubt"]) for number, found in stored}
        return self._figures[entry.id]

    def records(self, entry: VideoEntry) -> dict[int, ReviewRecord]:
        """The reviews of a video's frames, where there are any."""
        if self.folder is None or entry.uploaded:
            return {}
        names = (path.name.removesuffix(".json") for path in reviews_folder(self.folder).glob("*@*.json"))
        frames = [found for name in names if (found := parse_frame_name(name)) and found.video == entry.name]
        records = {frame.number: known_record(self.folder, frame_name(*frame)) for frame in sorted(frames)}
        return {number: record for number, record in records.items() if record.versions}

    def keep_picture(self, entry: VideoEntry, number: int, read: Callable[[], Pixels] | None = None) -> None:
        """Make sure that a frame lies in the cache as a picture."""
        facts, path = self.facts(entry), self.catalogue.frame(entry, number).sample.image
        if path.exists():
            return
        if read is not None:
            self._cache.keep_picture(path, read())
            return
        with FrameSeeker(entry.file, facts.index) as reader:
            self._cache.keep_picture(path, reader.read(number))

    def begin_walk(self, entry: VideoEntry, rate: float) -> None:
        """Predict frames at a rate.  One that was begun goes on; another rate takes its place."""
        facts = self.facts(entry)
        numbers = frames_at(facts.index.times, rate)
        if len(numbers) > MOST:
            raise Refusal(422, "too-many", f"that would be {len(numbers):,} frames, more than {MOST:,}; ask for fewer.")
        known = self._walk
        if known is not None and known[1].progress.state == "running":
            if known[0] != entry.id:
                raise Refusal(409, "walking", "another video is being predicted; stop it first.")
            known[1].stop(for_good=False)
        self._cache.prepare(facts.digest)
        done = self.figures(entry)
        walk = VideoWalk(
            entry.file, numbers, rate, known=lambda number: number in done, somebody_waits=self._waits,
            take=lambda number, read: self._take(entry, number, read), note=self._note(facts),
        )  # fmt: skip
        self._walk = entry.id, walk
        walk.start()

    def go_on(self) -> None:
        """After a restart: go on with the video that was being predicted when the server ended."""
        for entry in self.catalogue.entries.values():
            if self._walk is not None:
                return
            try:
                rate, state = last_walk(self._note(self.facts(entry)))
                if state == "running":
                    self.begin_walk(entry, rate)
            except Refusal:
                continue

    def progress(self, entry: VideoEntry) -> WalkProgress:
        if self._walk is not None and self._walk[0] == entry.id:
            return self._walk[1].progress
        facts = self.facts(entry)
        rate, state = last_walk(self._note(facts))
        numbers = frames_at(facts.index.times, rate) if rate > 0 else []
        done = len(self.figures(entry).keys() & set(numbers))
        return WalkProgress(
            "none" if state == "none" else "done" if state == "done" else "stopped", rate, done, len(numbers)
        )

    def stop(self, *, for_good: bool = True) -> None:
        if self._walk is not None:
            self._walk[1].stop(for_good=for_good)

    def carry(self, entry: VideoEntry, number: int, who: str, expected: int) -> None:
        """Begin to carry the mask of the decision in force on a frame.  `expected`: the revision that is known."""
        if self._carrying is not None and self._carrying.progress.state == "running":
            raise Refusal(409, "carrying", "a mask is being carried; wait until it is done, or stop it.")
        if self.folder is None or entry.uploaded:
            raise Refusal(
                409, "no-folder", "masks are carried in videos of the folder alone; start the viewer with it."
            )
        facts, rate = self.facts(entry), self.progress(entry).rate
        origin = self._origin(entry, number, expected)
        wanted = set(frames_at(facts.index.times, rate)) if rate > 0 else set()
        self._carrying = Carrying(self.folder, entry, facts, origin, who, lambda frame: not wanted or frame in wanted)
        self._carrying.start()

    def carrying(self, entry: VideoEntry) -> dict[str, object] | None:
        job = self._carrying
        return asdict(job.progress) if job is not None and job.progress.video == entry.id else None

    def stop_carrying(self) -> None:
        if self._carrying is not None:
            self._carrying.stop()

    def close(self) -> None:
        self.stop(for_good=False)
        self.stop_carrying()
        self.catalogue.close()

    def _origin(self, entry: VideoEntry, number: int, expected: int) -> CarriedDecision:
        assert self.folder is not None
        name = frame_name(entry.name, number)
        record = known_record(self.folder, name)
        version = in_force(record.versions)
        if record.revision != expected:
            raise Refusal(412, "changed", "somebody else has decided on this frame meanwhile; open it again.")
        if version is None or version.decision == "rejected":
            raise Refusal(409, "no-mask", "accept or correct the mask of this frame first; that mask is carried.")
        mask = read_version_mask(self.folder, name, version, len(self._predictions.names))
        if not ((mask > 0) & (mask < 255)).any():
            raise Refusal(409, "empty", "nothing is marked in this frame that could be carried.")
        return CarriedDecision(number, version, mask)

    def _take(self, entry: VideoEntry, number: int, read: Callable[[], Pixels]) -> None:
        self.keep_picture(entry, number, read)
        frame = self.catalogue.frame(entry, number)
        found = self._predictions.look(frame)
        self._predictions.forget(frame)  # it is on disk: a long video would fill the memory
        self.figures(entry)[number] = found["area"], found["doubt"]

    def _note(self, facts: VideoFacts) -> Path:
        return self._store.folder_of(facts.digest) / WALK
