"""The mask of an image, by name: in the same sub-folders, whatever its capitals, ending and composed letters."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath

from endotransfer.data.importers.tag_words import same_word
from endotransfer.data.importers.tree import Tree, is_mask_path, telling_folders

_WORDS = (
    *("mask", "maske", "seg", "segmentation", "segmentierung", "gt", "groundtruth", "ground_truth", "label"),
    "annotation",
)
_USUAL = tuple(mark + word for word in _WORDS for mark in "_- .")

Key = tuple[str, ...]


class MaskIndex:
    """Masks by their path below the folder of masks.  Each is given once; `left` are those that nobody asked for."""

    def __init__(self, masks: Iterable[tuple[Path, Path]], suffix: str = "") -> None:
        """`masks`: (path below its root, file).  `suffix`: what a mask's name has after its image's."""
        self._suffix = suffix
        self._files: dict[Key, Path] = {}
        self.doubles: list[tuple[Path, Path]] = []  # (left out, the one of the same name)
        for relative, file in masks:
            first = self._files.setdefault(_key(relative), file)
            if first != file:
                self.doubles.append((file, first))
        self._waiting = dict(self._files)
        self._stems: defaultdict[str, list[Key]] = defaultdict(list)
        for key in self._files:
            self._stems[key[-1]].append(key)
        self.guessed: set[str] = set()  # endings that were not named, and fitted
        self._asked: set[str] = set()  # names of images

    def find(self, relative: Path, *, alone: bool) -> Path | None:
        """The mask of the image at `relative`.  `alone`: no other image is called so; depths may differ."""
        *folders, stem = _key(relative)
        self._asked.add(stem)
        for suffix in [self._suffix] if self._suffix else ["", *_USUAL]:
            key = (*folders, same_word(stem + suffix))
            places = self._stems.get(key[-1], [])
            if key not in self._files and alone and len(places) == 1 and _on_one_way(key[:-1], places[0][:-1]):
                key = places[0]
            if key in self._files:
                self._waiting.pop(key, None)
                if suffix != self._suffix:
                    self.guessed.add(suffix)
                return self._files[key]
        return None

    def ending(self, mask: Path) -> str:
        """What the name of a mask has behind that of some image, as in `a_drawn`; '' where no image is called so."""
        stem = same_word(mask.stem)
        cuts = (cut for cut in range(len(stem) - 1, 0, -1) if not stem[cut].isalnum())
        return next((stem[cut:] for cut in cuts if stem[:cut] in self._asked), "")

    @property
    def left(self) -> list[Path]:
        return list(self._waiting.values())


def mask_files(tree: Tree, suffix: str = "") -> set[Path]:
    """The files of `tree` that are masks: by a folder on the way, or by their name beside that of their image."""
    known = {(file.parent, same_word(file.stem)) for file in tree.files}

    def beside(file: Path) -> bool:
        stem = same_word(file.stem)
        endings = (ending for ending in ([suffix.casefold()] if suffix else _USUAL) if stem.endswith(ending))
        return any((file.parent, stem.removesuffix(ending)) in known for ending in endings)

    return {file for file in tree.files if is_mask_path(tree.relative(file)) or beside(file)}


def _on_one_way(one: Key, other: Key) -> bool:
    """Whether one of the two has all folders of the other, in their order: where each has its own, there may be two
    patients."""
    few, many = sorted((one, other), key=len)
    left = iter(many)
    return all(folder in left for folder in few)


def _key(relative: Path) -> Key:
    return (*map(same_word, telling_folders(relative)), same_word(PurePath(relative.name).stem))
