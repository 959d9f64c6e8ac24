"""One benchmark a folder, and a sentence where the system has no such lock."""

import multiprocessing
import sys
from pathlib import Path

import pytest

from endotransfer.compare.folder_lock import alone_in
from endotransfer.errors import ConfigError


def enter(folder: Path) -> None:
    try:
        with alone_in(folder):
            sys.exit(0)
    except ConfigError:
        sys.exit(2)


def outcome(folder: Path) -> int | None:
    other = multiprocessing.get_context("spawn").Process(target=enter, args=(folder,))
    other.start()
    other.join()
    return other.exitcode


def test_another_process_is_kept_out_until_the_first_has_left(tmp_path: Path) -> None:
    with alone_in(tmp_path / "new"):
        assert outcome(tmp_path / "new") == 2
    assert outcome(tmp_path / "new") == 0


def test_a_system_without_the_lock_gets_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(ConfigError, match="this system cannot; use one of those, or WSL"), alone_in(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
