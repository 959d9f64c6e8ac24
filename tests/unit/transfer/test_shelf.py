"""Logits on a shelf: in memory or in files, which a thread writes."""

import threading
from pathlib import Path

import pytest
import torch

from endotransfer.errors import CheckpointError
from endotransfer.transfer import shelf as module
from endotransfer.transfer.shelf import MOST_WAITING, LogitShelf


def batch(number: int) -> torch.Tensor:
    return torch.full((2, 3, 4, 5), number, dtype=torch.float16)


@pytest.mark.parametrize("on_disk", [False, True])
def test_what_was_put_comes_back_and_nothing_is_left(tmp_path: Path, on_disk: bool) -> None:
    shelf = LogitShelf(tmp_path / "shelf" if on_disk else None)
    for number in range(2 * MOST_WAITING):
        shelf.put(number, batch(number))
    assert shelf.whole == 2 * MOST_WAITING
    assert all(torch.equal(shelf.get(number), batch(number)) for number in range(2 * MOST_WAITING))
    shelf.clear()
    assert shelf.whole == 0 and not list(tmp_path.iterdir())
    shelf.put(0, batch(7))  # and it can be used again
    assert torch.equal(shelf.get(0), batch(7))


def test_another_shelf_finds_what_one_wrote(tmp_path: Path) -> None:
    first = LogitShelf(tmp_path)
    for number in range(3):
        first.put(number, batch(number))
    assert first.whole == LogitShelf(tmp_path).whole == 3


def test_who_puts_does_not_wait_for_the_disk_until_too_many_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = threading.Event()
    write = module._write

    def slow(path: Path, logits: torch.Tensor) -> None:
        assert disk.wait(30)
        write(path, logits)

    monkeypatch.setattr(module, "_write", slow)
    shelf = LogitShelf(tmp_path)
    for number in range(MOST_WAITING):
        shelf.put(number, batch(number))
    assert not list(tmp_path.iterdir())
    one_more = threading.Thread(target=shelf.put, args=(MOST_WAITING, batch(MOST_WAITING)))
    one_more.start()
    one_more.join(0.2)
    assert one_more.is_alive()  # it waits for the first
    disk.set()
    one_more.join(30)
    assert not one_more.is_alive() and shelf.whole == MOST_WAITING + 1


def test_a_batch_that_could_not_be_written_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "000001.npy").mkdir()  # a folder where the file should be
    shelf = LogitShelf(tmp_path)
    for number in range(2):
        shelf.put(number, batch(number))
    with pytest.raises(CheckpointError, match=r"cannot write .*000001\.npy"):
        shelf.get(0)
