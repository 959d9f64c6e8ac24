"""Whose image a file is, from a pattern or from the folders it lies in."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from endotransfer.data.importers.tag_words import NO, YES, same_word
from endotransfer.data.importers.tree import telling_folders
from endotransfer.errors import ConfigError

PatientOf = Callable[[Path], str]  # from the path of a file below the folder of images

_LIKE_A_PATIENT = re.compile(r"(patient(in|en)?|pat|pt|p|case|fall|subject|subj|proband|id)?[\s_.-]*\d[\w.-]*", re.I)
_MANY = 5  # folders of any name are patients from here on; two or three are rather findings, devices or years


def patient_by(pattern: str, files: Iterable[Path]) -> PatientOf:
    """By `pattern` where one is given (its first group, or all of it), else by folder, in view of all `files`."""
    if not pattern:
        outermost = {folders[0] for folders in map(_possible, files) if folders}
        return lambda relative: _patient_folder(relative, any_name=len(outermost) >= _MANY)
    try:
        found = re.compile(pattern)
    except re.error as reason:
        what = f"option patient_pattern is no regular expression ({reason})"
        raise ConfigError(what + r"; write one, such as '(P\d+)_'.") from None

    def patient(relative: Path) -> str:
        match = found.search(relative.as_posix())
        return "" if match is None else (match[1] if found.groups else match[0]) or ""

    return patient


def _patient_folder(relative: Path, *, any_name: bool) -> str:
    """The folder that is called like a patient, else the outermost one where it may have `any_name`."""
    folders = _possible(relative)
    named = (part for part in folders if _LIKE_A_PATIENT.fullmatch(part))
    return next(named, folders[0] if folders and any_name else "")


def _possible(relative: Path) -> list[str]:
    return [part for part in telling_folders(relative) if same_word(part) not in YES | NO]
