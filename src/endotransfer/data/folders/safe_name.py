"""Names of files that any file system takes."""

import hashlib
import re

LONGEST = 120  # bytes of a name; file systems take 255, and endings and numbers are still to come
_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\ud800-\udfff]')


def safe_name(text: str) -> str:
    """`text` without what a file system or a terminal could stumble over, and not too long for either."""
    name = _UNFIT.sub("_", text).strip(". ") or "_"
    raw = name.encode()
    if len(raw) <= LONGEST:
        return name
    digest = hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=4).hexdigest()
    return f"{raw[: LONGEST - 9].decode(errors='ignore')}-{digest}"
