"""Texts that leave this machine name no folder of it: of an absolute path only the last name stays."""

import re
from collections.abc import Mapping

# Not behind a word, a dot, a colon or a slash: addresses and fractions stay as they are.
_ABSOLUTE = re.compile(r"(?<![\w./:~])(?:[A-Za-z]:\\|~?/)(?:[^\s/\\:,;'\"`()<>|]+[/\\])+([^\s/\\:,;'\"`()<>|]*)")


def without_folders(text: str) -> str:
    """`text` with `/home/me/study/a.png` as `a.png`."""
    return _ABSOLUTE.sub(r"\1", text)


def values_without_folders(value: object) -> object:
    """The same for every text in a JSON value; a text that is a path, with spaces or not, keeps its last name."""
    if isinstance(value, Mapping):
        return {key: values_without_folders(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [values_without_folders(one) for one in value]
    if not isinstance(value, str):
        return value
    return value.rstrip("/").rpartition("/")[2] if value.startswith(("/", "~/")) else without_folders(value)
