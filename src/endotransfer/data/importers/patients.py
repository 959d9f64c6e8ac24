"""Whose image a file is, from a pattern or from the folders it lies in."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from endotransfer.data.importers.tag_words import NO, YES, same_word
from endotransfer.data.importers.tree import telling_folders
from endotransfer.errors import ConfigError

PatientOf = Callable[[Path], str]  # from the path of a file below the folder of images

_LIKE_A_PATIENT = re.compile(r"(patient(in|en)?|pat|pt|p|case|fall|subject|subj|proband|id)?[\s_.-]*\d[\w.-]*", re.I)
_NUMBER = re.compile(r"[\d._-]+")
_DATE = re.compile(r"(19|20)\d\d([._-]?(0[1-9]|1[0-2])([._-]?[0-3]\d)?)?")  # 2024, 2024-03, 20240315
_MANY = 5  # folders of any name are patients from here on; two or three are rather findings, devices or years


def patient_by(pattern: str, files: Iterable[Path]) -> PatientOf:
    """By `pattern` where one is given (its first group, or all of it), else by folder, in view of all `files`."""
    if not pattern:
        ways = [_possible(file) for file in files]
        dates = _dates(ways)
        outermost = {folders[0] for way in ways if (folders := _without(way, dates))}
        return lambda relative: _patient_folder(_without(_possible(relative), dates), any_name=len(outermost) >= _MANY)
    try:
        found = re.compile(pattern)
    except re.error as reason:
        what = f"option patient_pattern is no regular expression ({reason})"
        raise ConfigError(what + r"; write one, such as '(P\d+)_'.") from None

    def patient(relative: Path) -> str:
        match = found.search(relative.as_posix())
        return "" if match is None else (match[1] if found.groups else match[0]) or ""

    return patient


def _patient_folder(folders: Sequence[str], *, any_name: bool) -> str:
    """The folder that is called like a patient, else the outermost one where it may have `any_name`."""
    named = (part for part in folders if _LIKE_A_PATIENT.fullmatch(part))
    return next(named, folders[0] if folders and any_name else "")


def _dates(ways: Iterable[Sequence[str]]) -> set[str]:
    """Numbers that are all years or dates: one of them has many patients, and a patient may have several of them."""
    numbers = {folder for way in ways for folder in way if _NUMBER.fullmatch(folder)}
    return numbers if all(map(_DATE.fullmatch, numbers)) else set()


def _without(way: Sequence[str], dates: set[str]) -> list[str]:
    return [folder for folder in way if folder not in dates]


def _possible(relative: Path) -> list[str]:
    return [part for part in telling_folders(relative) if same_word(part) not in YES | NO]
