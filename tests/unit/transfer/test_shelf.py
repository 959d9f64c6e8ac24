"""Logits on a shelf: in memory or in files, which a thread writes."""

import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from endotransfer.errors import CheckpointError
from endotransfer.transfer import shelf as module
from endotransfer.transfer.shelf import MOST_WAITING, LogitShelf


def batch(number: int) -> torch.Tensor:
    return torch.full((2, 3, 4, 5), number, dtype=torch.float16)


@pytest.mark.parametrize("threaded", [False, True])
@pytest.mark.parametrize("on_disk", [False, True])
def test_what_was_put_comes_back_and_nothing_is_left(tmp_path: Path, on_disk: bool, threaded: bool) -> None:
    shelf = LogitShelf(tmp_path / "shelf" if on_disk else None)
    for _ in range(2):  # it can be used again
        with shelf.writing() if threaded else nullcontext():
            for number in range(2 * MOST_WAITING):
                shelf.put(number, batch(number))
        assert shelf.whole == 2 * MOST_WAITING
        assert all(torch.equal(shelf.get(number), batch(number)) for number in range(2 * MOST_WAITING))
        shelf.clear()
        assert shelf.whole == 0 and not list(tmp_path.iterdir())


def slow_disk(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Nothing is written before the event."""
    disk, write = threading.Event(), module._write

    def slow(path: Path, logits: torch.Tensor) -> None:
        assert disk.wait(30)
        write(path, logits)

    monkeypatch.setattr(module, "_write", slow)
    return disk


def test_who_puts_does_not_wait_for_the_disk_until_too_many_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, shelf = slow_disk(monkeypatch), LogitShelf(tmp_path)
    with shelf.writing():
        for number in range(MOST_WAITING):
            shelf.put(number, batch(number))
        assert not list(tmp_path.iterdir())
        one_more = threading.Thread(target=shelf.put, args=(MOST_WAITING, batch(MOST_WAITING)))
        one_more.start()
        one_more.join(0.2)
        assert one_more.is_alive()  # it waits for the first
        disk.set()
        one_more.join(30)
        assert not one_more.is_alive()
    assert shelf.whole == MOST_WAITING + 1


def test_after_an_error_all_that_was_put_is_there_and_nobody_writes_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a thread could write into the folder of the pass that comes next."""
    disk, shelf = slow_disk(monkeypatch), LogitShelf(tmp_path)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), shelf.writing():
        for number in range(3):
            shelf.put(number, batch(number))
        disk.set()
        raise KeyboardInterrupt
    assert threading.active_count() == before
    assert LogitShelf(tmp_path).whole == 3  # another shelf finds them


@pytest.mark.parametrize("after", [0, 2 * MOST_WAITING])
def test_a_batch_that_could_not_be_written_is_not_passed_over(tmp_path: Path, after: int) -> None:
    (tmp_path / "shelf" / "000001.npy").mkdir(parents=True)  # a folder where the file should be
    shelf = LogitShelf(tmp_path / "shelf")
    with pytest.raises(CheckpointError, match=r"cannot write .*000001\.npy"), shelf.writing():
        for number in range(2 + after):
            shelf.put(number, batch(number))
    shelf.clear()
    assert not list(tmp_path.iterdir())
