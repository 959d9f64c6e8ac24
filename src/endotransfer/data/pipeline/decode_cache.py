"""Decoded images and checked masks that several runs of one process share."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar, cast

from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.decoded_images import Cache, DecodedImages, free_memory
from endotransfer.data.read.checked_mask import check_masks
from endotransfer.samples import Sample

Read = TypeVar("Read")
MOST_SETS = 8  # source, tag-only and target, and again for an upper bound


class DecodeCache:
    """Remembers up to `most_sets` decoded sets, as long as none of their files changes; 0: remembers nothing.

    A benchmark makes one for each process and hands it to every run; a single run needs none.
    """

    def __init__(self, most_sets: int = MOST_SETS) -> None:
        self.most_sets = most_sets
        self._images: OrderedDict[Hashable, DecodedImages] = OrderedDict()
        self._mask_notes: dict[Hashable, Counter[str]] = {}
        self._read: dict[Hashable, dict[str, object]] = {}

    def decoded_images(
        self, samples: Sequence[Sample], size: tuple[int, int], classes: Classes, *, masks: bool, cache: Cache,
        keep_contradictions: bool, memory_share: float, progress: Callable[[int, int], None] | None = None,
    ) -> DecodedImages:  # fmt: skip
        """The images of `samples`, decoded now or earlier."""

        def decode() -> DecodedImages:
            return DecodedImages(
                samples, size, classes, masks=masks, cache=cache, memory_share=memory_share,
                keep_contradictions=keep_contradictions, progress=progress,
            )  # fmt: skip

        if not self.most_sets or cache == "never":
            return decode()
        key = (tuple(samples), _file_states(samples, masks=masks), size, classes, masks, cache, keep_contradictions)
        if key not in self._images:
            needed = len(samples) * size[0] * size[1] * 4
            if len(self._images) >= self.most_sets or needed > memory_share * free_memory():
                self._images.clear()  # cached sets must not be why the new one does not fit
            self._images[key] = decode()
        self._images.move_to_end(key)
        return self._images[key]

    def mask_notes(self, samples: Sequence[Sample], classes: Classes, *, keep_contradictions: bool) -> Counter[str]:
        """The notes of `check_masks`, now or earlier; a set with a fault is checked again every time."""
        if not self.most_sets:
            return check_masks(samples, classes, keep_contradictions=keep_contradictions)
        key = (tuple(samples), _file_states(samples, masks=True), classes, keep_contradictions)
        if key not in self._mask_notes:
            self._mask_notes[key] = check_masks(samples, classes, keep_contradictions=keep_contradictions)
        return self._mask_notes[key].copy()

    def remembering(
        self, read: Callable[[Sample], Read], samples: Sequence[Sample], *, about: Hashable,
        pixels: tuple[int, int] | None,
    ) -> Callable[[Sample], Read]:  # fmt: skip
        """`read` that looks up what it read of `samples` before, as long as no file changes, `about` being the same.

        Images of any size (`pixels` None) may be too large to be kept, and sets that take much memory are not either.
        """
        if not self.most_sets or pixels is None or len(samples) * pixels[0] * pixels[1] * 8 > 0.2 * free_memory():
            return read
        key = (about, tuple(samples), _file_states(samples, masks=True))
        if key not in self._read:
            self._read.clear()  # one set at a time: the cells of a benchmark are measured on the same images
        known = self._read.setdefault(key, {})

        def remembered(sample: Sample) -> Read:
            if sample.key not in known:
                known[sample.key] = read(sample)
            return cast(Read, known[sample.key])

        return remembered


def _file_states(samples: Sequence[Sample], *, masks: bool) -> tuple[tuple[int, int], ...]:
    """Size and modification time of every file that is read."""
    files = [file for sample in samples for file in (sample.image, sample.mask if masks else None) if file is not None]
    return tuple((status.st_size, status.st_mtime_ns) for status in (file.stat() for file in files))
