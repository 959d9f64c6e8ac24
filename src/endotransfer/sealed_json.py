"""JSON objects that carry a checksum of themselves, so that a flipped bit is noticed before it changes a meaning."""

import hashlib
import json
from collections.abc import Mapping

KEY = "checksum"  # SHA-256 of everything else in the object


def sealed(content: Mapping[str, object]) -> str:
    """`content` as the text of a file, with its checksum; an earlier one is replaced."""
    return json.dumps({**_unsealed(content), KEY: checksum(content)}, indent=2)


def checksum(content: Mapping[str, object]) -> str:
    """The same however the text is laid out: of the values, in the order of their keys."""
    text = json.dumps(_unsealed(content), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def is_intact(content: Mapping[str, object]) -> bool | None:
    """Whether an object read from a file is the one that was sealed; None where it bears no checksum."""
    if KEY not in content:
        return None
    return content[KEY] == checksum(content)


def _unsealed(content: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in content.items() if key != KEY}
