"""Names of repositories of a model hub: `owner/name`, `hf://owner/name@REVISION`, `hf://owner/name/FILE`."""

import re
from dataclasses import dataclass
from pathlib import Path

from endotransfer.errors import CheckpointError

_PART = r"[A-Za-z0-9][\w.-]{0,95}"
_REPOSITORY = re.compile(rf"({_PART}/{_PART})((?:/{_PART}){{1,8}})?(?:@([\w./-]{{1,100}}))?", re.ASCII)
_HUB = re.compile(r"hf:/{1,3}(.*)")  # pathlib makes one slash of two


@dataclass(frozen=True)
class HubName:
    """A repository "owner/name", perhaps one of its files, perhaps a revision other than its main branch."""

    repository: str
    file: str | None = None
    revision: str | None = None


def hub_name(path: Path) -> HubName | None:
    """What a path that is not there names of a hub, if anything."""
    text = path.as_posix()
    if marked := _HUB.fullmatch(text):
        return parsed(marked[1])
    # Where the first part is a folder here, the second is misspelt: nobody is asked on the network for that.
    found = _REPOSITORY.fullmatch(text)
    return parsed(text) if found and not found[2] and not path.parent.exists() else None


def parsed(text: str) -> HubName:
    found = _REPOSITORY.fullmatch(text)
    if found is None:
        raise CheckpointError(f"'{text[:100]}' names no repository of a hub; write for example hf://owner/name.")
    return HubName(found[1], found[2] and found[2][1:], found[3])
