"""Pictures that lie in a folder and are passed over: whoever predicts or looks at it is told."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from endotransfer.data.folders.listing import printable
from endotransfer.data.read.picture_file import READ_ENDINGS


def unread_pictures(folder: Path, found: Iterable[Path], read: Iterable[Path]) -> str | None:
    """A sentence where some of `found` below `folder` hold pictures, by their ending, and are not among `read`."""
    taken = set(read)
    left = [file for file in found if file.suffix.lower() in READ_ENDINGS and file not in taken]
    if not left:
        return None
    kinds = ", ".join(
        f"{kind} {count}" for kind, count in sorted(Counter(file.suffix.lower() for file in left).items())
    )
    first = printable(min(left).relative_to(folder).as_posix())
    return (
        f"{len(left)} files with pictures in {folder} are passed over ({kinds}; first: {first}); "
        "`endotransfer data import folders` reads such files, and says why where it does not"
    )
