"""The backbone that a file of weights is for, by the file's name."""

from collections.abc import Iterable
from pathlib import Path

from endotransfer.errors import ConfigError

OTHER_SPELLINGS = {"mobilenetv2": "mobilenetv2_100"}  # torchvision's name


def backbone_of_file(file: Path, known: Iterable[str]) -> str:
    """The longest of the `known` names that the file's name begins with, underscores and case aside."""
    stem = _plain(file.stem)
    spelt = {_plain(name): name for name in known} | OTHER_SPELLINGS
    fitting = [plain for plain in spelt if stem.startswith(plain)]
    if not fitting:
        raise ConfigError(f"the name of {file} does not tell its backbone; name it with --backbone, such as resnet50.")
    return spelt[max(fitting, key=len)]


def _plain(name: str) -> str:
    return name.lower().replace("_", "")
