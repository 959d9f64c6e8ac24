"""Settings that were renamed: the old name goes on working and says the new one.

To rename a setting of an experiment, add a line to `RENAMED`.  A method's own settings are checked by the method, which
calls `tell_renamed` itself.
"""

import sys

from endotransfer.config.strict import RawConfig
from endotransfer.errors import ConfigError

RENAMED: dict[str, str] = {  # `section.key` of an experiment, old -> new
    "training.head_lr": "training.head_lr_factor",
    "training.tensorboard": "training.loggers",
}
_told: set[tuple[str, str]] = set()  # each is said once in a process


def tell_renamed(old: str, new: str) -> None:
    """Say on stderr, once, that a setting has another name now."""
    if (old, new) not in _told:
        _told.add((old, new))
        print(f"note: {old} is now called {new}", file=sys.stderr)


def current_key(key: str) -> str:
    """`key` of `--set key=value` as it is called today."""
    if key.startswith("phantom."):
        return f"phantom.{current_key(key.removeprefix('phantom.'))}"
    if key in RENAMED:
        tell_renamed(key, RENAMED[key])
    return RENAMED.get(key, key)


def rename_keys(raw: RawConfig, where: str = "experiment") -> RawConfig:
    """A copy of an experiment's or suite's mapping with today's names, in the rows and the phantom of a suite too."""
    renamed = _renamed(raw, where)
    if isinstance(renamed.get("phantom"), dict):
        renamed["phantom"] = _renamed(renamed["phantom"], f"{where}, phantom")
    if isinstance(renamed.get("systems"), list | tuple):
        rows = renamed["systems"]
        renamed["systems"] = [_renamed(row, f"{where}, systems") if isinstance(row, dict) else row for row in rows]
    return renamed


def _renamed(raw: RawConfig, where: str) -> RawConfig:
    copy = dict(raw)
    for old, new in RENAMED.items():
        (section, old_key), (_, new_key) = old.split("."), new.split(".")
        values = copy.get(section)
        if not isinstance(values, dict) or old_key not in values:
            continue
        if new_key in values:
            raise ConfigError(f"{where} sets both {old} and {new}, which are the same; keep {new}.")
        tell_renamed(old, new)
        copy[section] = {new_key if key == old_key else key: value for key, value in values.items()}
    return copy
