"""Any string as the name of a tensor or of a group, though file systems and safetensors take only some."""

import re
from hashlib import sha256
from urllib.parse import quote, unquote

_PLAIN_GROUP = re.compile(r"[a-z0-9_-]{1,64}")
_ESCAPED = "="


def to_stored(name: str) -> str:
    """`name` itself, or escaped where safetensors reserves it (`__metadata__`) or UTF-8 cannot hold it."""
    if name == "__metadata__" or name.startswith(_ESCAPED) or not _is_utf8(name):
        return _ESCAPED + quote(name, safe="", errors="surrogatepass")
    return name


def from_stored(stored: str) -> str:
    """The inverse of `to_stored`."""
    if stored.startswith(_ESCAPED):
        return unquote(stored.removeprefix(_ESCAPED), errors="surrogatepass")
    return stored


def group_file(group: str) -> str:
    """`weights` -> `weights.safetensors`; a name no file system would surely take -> one made of its hash."""
    if _PLAIN_GROUP.fullmatch(group):
        return f"{group}.safetensors"
    # The dot keeps hashed names apart from plain ones.
    return f"group.{sha256(group.encode(errors='surrogatepass')).hexdigest()[:32]}.safetensors"


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)
