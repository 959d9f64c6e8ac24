"""A device is one that there is."""

import pytest
import torch

from endotransfer.engine.choose_device import choose_device
from endotransfer.errors import ConfigError


def test_known_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for available, best in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=available: there)
        assert choose_device() == torch.device(best)
    assert [str(choose_device(name)) for name in ("cpu", "cuda", "cuda:1")] == ["cpu", "cuda", "cuda:1"]
    with pytest.raises(ConfigError, match="there is no device cuda:2 on this machine"):
        choose_device("cuda:2")


@pytest.mark.parametrize("name", ["gpu", "mps", "", "cuda:x", 0])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="the device is cpu or cuda, not"):
        choose_device(name)
