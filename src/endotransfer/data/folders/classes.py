"""The classes of a folder's masks, in index order."""

from dataclasses import dataclass
from pathlib import Path

from endotransfer.data.folders.faults import FaultError, failure
from endotransfer.errors import DataError, shown
from endotransfer.io import read_yaml
from endotransfer.label_values import IGNORE
from endotransfer.registry import nearest

FILE = "classes.yaml"
_EXAMPLE = "write `classes: [normal, polyp, ulcer]` in index order"


@dataclass(frozen=True)
class LabelNumbers:
    """The label numbers of a published set, and the class that each stands for."""

    data_set: str
    table: tuple[int, ...]  # number -> class index, or IGNORE
    wide: bool = False  # the number is the first channel of a 16-bit colour PNG


@dataclass(frozen=True)
class Classes:
    """Names in index order, and the mask value of an unlabelled pixel."""

    names: tuple[str, ...] = ("normal", "lesion")
    ignore: int = IGNORE
    ignore_stated: bool = (
        False  # a binary mask usually means lesion by 255; only a written `ignore: 255` turns that off
    )
    numbers: LabelNumbers | None = None  # how a published set writes its classes; None: a value is the class's index

    @property
    def binary(self) -> bool:
        return len(self.names) == 2

    @property
    def keeps_ignore(self) -> bool:
        """Whether the value `ignore` in a mask means unlabelled."""
        return not self.binary or self.ignore_stated or self.ignore != IGNORE

    def __len__(self) -> int:
        return len(self.names)


def read_classes(folder: Path) -> Classes:
    """The classes in `classes.yaml` of `folder`; without the file, normal and lesion."""
    path = folder / FILE
    if not path.exists() and not path.is_symlink():
        return Classes()
    if not path.resolve().is_relative_to(folder.resolve()):
        raise failure("link-outside", path, "is a link that leaves the folder", "replace it with the file itself")
    content = _load(path)
    unknown = [key if isinstance(key, str) else shown(key) for key in content if key not in ("classes", "ignore")]
    if unknown:
        hint = nearest(unknown[0][:80], ["classes", "ignore"]).rstrip(".")
        raise _wrong(path, f"has an unknown key '{unknown[0][:80]}'", hint)
    names = _names(path, content.get("classes"))
    ignore = _ignore(path, content.get("ignore", IGNORE), len(names))
    return Classes(names, ignore, ignore_stated="ignore" in content)


def _load(path: Path) -> dict[object, object]:
    try:
        content = read_yaml(path, DataError, _EXAMPLE)
    except (DataError, OSError) as reason:
        raise _wrong(path, f"is not readable YAML ({reason})", _EXAMPLE) from reason
    if not isinstance(content, dict):
        raise _wrong(path, "has no list of classes", _EXAMPLE)
    return content


def _names(path: Path, names: object) -> tuple[str, ...]:
    if not isinstance(names, list) or not 2 <= len(names) <= IGNORE:
        raise _wrong(path, f"needs a list of 2 to {IGNORE} classes", _EXAMPLE)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise _wrong(path, f"has a class name {shown(name)} that is not text", "put every name in quotes")
        if names.count(name) > 1:
            raise _wrong(path, f"names the class '{name}' twice", "name every class once")
    return tuple(names)


def _ignore(path: Path, value: object, classes: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not classes <= value <= 255:
        what = f"ignores the value {shown(value)}, which is not a free one from {classes} to 255"
        raise _wrong(path, what, "write `ignore: 255`")
    return value


def _wrong(path: Path, what: str, fix: str) -> FaultError:
    return failure("bad-classes", path, what, fix)
