"""The device that a caller names, or the best there is."""

import torch

from endotransfer.errors import ConfigError


def choose_device(name: str | None = None) -> torch.device:
    """None: a GPU if there is one.  `cuda:1` means the second GPU."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise ConfigError(f"the device is cpu or cuda, not '{name}'; leave it out for the best there is.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise ConfigError(f"there is no device {name} on this machine; leave it out, or give cpu.")
    return torch.device(name)
