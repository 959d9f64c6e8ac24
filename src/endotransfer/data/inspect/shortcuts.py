"""Tags that can be told without looking at the tissue: a network learns the easier of two signs."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
from scipy.stats import rankdata

from endotransfer.data.folders.faults import Note
from endotransfer.data.inspect.image_survey import Reading

_OVERLAY = 0.2  # an overlay so much more frequent under one tag can be learnt instead of the lesion
_CERTAIN, _CERTAIN_FROM = 0.95, 5  # with few images of a tag only a nearly perfect sign is no accident
_LIKELY, _LIKELY_FROM = 0.8, 20

T = TypeVar("T")


def shortcuts(readings: Sequence[Reading]) -> list[Note]:
    """A caution for everything beside the tissue that tells images tagged lesion from those tagged normal."""
    lesion, normal = (
        [one for one in readings if one.prints is not None and one.entry.cell("label") == tag]
        for tag in ("lesion", "normal")
    )
    if not lesion or not normal:
        return []
    found = (_of_measure(name, list(map(of, lesion)), list(map(of, normal))) for name, of in MEASURES.items())
    return [note for note in (*found, _of_format(lesion, normal)) if note is not None]


def overlay_shortcuts(overlays: dict[str, dict[str, float]]) -> list[Note]:
    """The same for overlays, from the share of images of each tag that have one."""
    notes = []
    for kind, by_tag in overlays.items():
        shares = [by_tag[tag] for tag in ("lesion", "normal") if tag in by_tag]
        if len(shares) == 2 and abs(shares[0] - shares[1]) > _OVERLAY:
            seen = f"on {shares[0]:.0%} of lesion and {shares[1]:.0%} of normal images"
            what = f"{kind.replace('_', ' ')} was seen {seen}: a network may learn that instead (a hint)"
            notes.append(Note("overlay-shortcut", what, caution=True))
    return notes


def separation(first: Sequence[float], second: Sequence[float]) -> float:
    """AUROC of a measure: how often one of `first` exceeds one of `second`; 0.5 says nothing."""
    ranks = rankdata([*first, *second])[: len(first)]
    return float((ranks.sum() - len(first) * (len(first) + 1) / 2) / (len(first) * len(second)))


def _of_measure(name: str, lesion: list[float], normal: list[float]) -> Note | None:
    auroc = separation(lesion, normal)
    if not _telling(auroc, len(lesion), len(normal)):
        return None
    typical = " and ".join(f"{np.median(values):.4g} for {tag}" for tag, values in _by_tag(lesion, normal))
    return _caution(f"{name} alone (AUROC {max(auroc, 1 - auroc):.2f}; median {typical})")


def _of_format(lesion: list[Reading], normal: list[Reading]) -> Note | None:
    """Of a kind, each image scores the share of lesions among the images of its kind."""
    formats = [[one.format for one in group] for group in (lesion, normal)]
    counts = [Counter(group) for group in formats]
    share = {kind: counts[0][kind] / (counts[0][kind] + counts[1][kind]) for kind in chain(*counts)}
    auroc = separation(*([share[kind] for kind in group] for group in formats))
    if not _telling(auroc, len(lesion), len(normal)):
        return None
    most = " and ".join(f"{group.most_common(1)[0][0]} for {tag}" for tag, group in _by_tag(*counts))
    return _caution(f"the file format alone (AUROC {auroc:.2f}; mostly {most})")


def _by_tag(lesion: T, normal: T) -> list[tuple[str, T]]:
    return [("lesion", lesion), ("normal", normal)]


def _caution(sign: str) -> Note:
    what = (
        f"the tag can be told by {sign}: a network may learn that instead of the lesion; mix the sources of both tags"
    )
    return Note("tag-shortcut", what, caution=True)


def _telling(auroc: float, *images: int) -> bool:
    certainty, fewest = max(auroc, 1 - auroc), min(images)
    return (certainty >= _CERTAIN and fewest >= _CERTAIN_FROM) or (certainty >= _LIKELY and fewest >= _LIKELY_FROM)


def _frame_share(reading: Reading) -> float:
    assert reading.frame is not None
    top, left, bottom, right = reading.frame.box
    return 1 - (bottom - top) * (right - left)


def _brightness(reading: Reading) -> float:
    assert reading.prints is not None
    return float(reading.prints.thumbnail.mean())


MEASURES: dict[str, Callable[[Reading], float]] = {
    "the size in pixels": lambda reading: reading.size[0] * reading.size[1],
    "the aspect ratio": lambda reading: reading.size[1] / max(1, reading.size[0]),
    "the black frame (share of the image)": _frame_share,
    "the brightness (0 to 255)": _brightness,
}
