"""What outlives a run: several runs in one process on the same images decode them, and check their masks, once."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from endotransfer.batch import Sample
from endotransfer.data.folders.classes import Classes
from endotransfer.data.pipeline.decoded_images import Cache, DecodedImages, free_memory
from endotransfer.data.read.checked_mask import check_masks

MOST_SETS = 8  # source, tag-only and target, and again for an upper bound
_kept: "OrderedDict[Any, DecodedImages] | None" = None  # None: nothing is kept
_checked: dict[Any, Counter[str]] = {}  # what was noted of masks that were found sound


@contextmanager
def keep_decoded() -> Iterator[None]:
    """Within this block both functions below give what they gave before, as long as no file has changed."""
    global _kept, _checked
    before, _kept, _checked = (_kept, _checked), OrderedDict(), {}
    try:
        yield
    finally:
        _kept, _checked = before


def decoded_images(
    samples: Sequence[Sample], size: tuple[int, int], classes: Classes, *, masks: bool, cache: Cache,
    keep_contradictions: bool, memory_share: float, progress: Callable[[int, int], None] | None = None,
) -> DecodedImages:  # fmt: skip
    """The images of `samples`, decoded now or earlier."""

    def decode() -> DecodedImages:
        return DecodedImages(
            samples, size, classes, masks=masks, cache=cache, memory_share=memory_share,
            keep_contradictions=keep_contradictions, progress=progress,
        )  # fmt: skip

    if _kept is None or cache == "never":
        return decode()
    key = (tuple(samples), _state_of(samples, masks=masks), size, classes, masks, cache, keep_contradictions)
    if key not in _kept:
        needed = len(samples) * size[0] * size[1] * 4
        if len(_kept) >= MOST_SETS or needed > memory_share * free_memory():
            _kept.clear()  # what is kept must not be why the new set does not fit
        _kept[key] = decode()
    _kept.move_to_end(key)
    return _kept[key]


def notes_on_masks(samples: Sequence[Sample], classes: Classes, *, keep_contradictions: bool) -> Counter[str]:
    """`check_masks`, now or earlier."""
    if _kept is None:
        return check_masks(samples, classes, keep_contradictions=keep_contradictions)
    key = (tuple(samples), _state_of(samples, masks=True), classes, keep_contradictions)
    if key not in _checked:
        _checked[key] = check_masks(samples, classes, keep_contradictions=keep_contradictions)
    return _checked[key].copy()


def _state_of(samples: Sequence[Sample], *, masks: bool) -> tuple[tuple[int, int], ...]:
    """Size and time of every file that is read: other content, another state."""
    files = [file for sample in samples for file in (sample.image, sample.mask if masks else None) if file is not None]
    return tuple((status.st_size, status.st_mtime_ns) for status in (file.stat() for file in files))
