"""From files of any kind to the items of an import: pictures, their masks, and what is known of each file."""

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.data.folders.safe_name import safe_name
from endotransfer.data.importers.mask_index import MaskIndex
from endotransfer.data.importers.mask_sources import from_file
from endotransfer.data.importers.records import FROM_MASK, Item, Published
from endotransfer.data.importers.tag_words import same_word
from endotransfer.data.importers.tree import Tree, telling_folders
from endotransfer.data.read.picture_file import FilePart, open_picture_file
from endotransfer.errors import ConfigError, DataError


@dataclass(frozen=True)
class Facts:
    """What is known of a file without opening it."""

    label: str = ""
    finding: str = ""
    patient: str = ""
    split: str = ""


@dataclass
class Intake:
    """Adds files of `tree` to `published`.  `frames`: of a video, how many a second, or "change"."""

    published: Published
    tree: Tree
    masks: MaskIndex | None
    facts: Callable[[Path], Facts]
    needs_mask: bool = False  # an image without one is left out, and named
    frames: str = "1"
    _names: Counter[str] = field(default_factory=Counter)

    def add(self, files: Sequence[Path]) -> None:
        self._names = Counter(same_word(file.stem) for file in files)
        for file in files:
            relative = self.tree.relative(file)
            try:
                opened = open_picture_file(file, self.frames)
            except (DataError, ConfigError) as reason:
                self._leave(file, reason)
                continue
            for part in opened.parts:
                self._add_part(file, relative, part, opened.patient)

    def _leave(self, file: Path, reason: object) -> None:
        fault = getattr(reason, "fault", None)
        self.published.skipped.append(f"{self.tree.shown(file)}: {fault.what if fault else reason}")

    def _add_part(self, file: Path, relative: Path, part: FilePart, patient: str) -> None:
        known = self.facts(relative)
        name = safe_name("-".join([*telling_folders(relative), relative.stem]))
        ending = f"-{part.name}" if part.name else ""
        mask = self._mask_of(relative.with_name(f"{relative.stem}{ending}.x"))
        if mask is None and self.needs_mask:
            self._leave(file, f"no mask was found for it{f' ({part.name})' if part.name else ''}")
            return
        label = "" if mask is None and known.label == FROM_MASK else known.label
        item = Item(
            name + ending, file, None if mask is None else from_file(mask, self.published.classes), label,
            known.finding, known.split, known.patient or patient,
            ({"sequence": name} if part.name else {}) | ({"dicom": part.dicom} if part.dicom else {}),
            mask_file=mask, part=part,
        )  # fmt: skip
        self.published.items.append(item)

    def _mask_of(self, relative: Path) -> Path | None:
        if self.masks is None:
            return None
        return self.masks.find(relative, alone=self._names[same_word(relative.stem)] <= 1)


def say_masks(published: Published, masks: MaskIndex, tree: Tree) -> None:
    """Name the masks that nothing was found for, and what was assumed about their names."""
    for file in masks.left:
        ending = masks.ending(file)
        hint = f"; an image is called like it without '{ending}' (--suffix {shlex.quote(ending)})" if ending else ""
        published.skipped.append(f"{tree.shown(file)}: no image was found for this mask{hint}")
    for file, first in masks.doubles:
        published.skipped.append(f"{tree.shown(file)}: {tree.shown(first)} has the same name")
    if masks.guessed:
        endings = ", ".join(f"'{ending}'" for ending in sorted(masks.guessed))
        published.guesses.append(f"masks are called like their image with {endings} behind it")


def say_patients(published: Published, how: str) -> None:
    """How patients were told apart, and how many there are."""
    patients = {item.patient for item in published.items} - {""}
    if patients:
        published.guesses.append(f"the patient was taken from {how}: {len(patients)} patients")
