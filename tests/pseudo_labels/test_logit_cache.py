"""Logits on a logit_cache: in memory or in files, which a thread writes."""

import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from endotransfer.errors import CheckpointError
from endotransfer.pseudo_labels import logit_cache as module
from endotransfer.pseudo_labels.logit_cache import MOST_WAITING, LogitCache


def batch(number: int) -> torch.Tensor:
    return torch.full((2, 3, 4, 5), number, dtype=torch.float16)


@pytest.mark.parametrize("threaded", [False, True])
@pytest.mark.parametrize("on_disk", [False, True])
def test_what_was_put_comes_back_and_nothing_is_left(tmp_path: Path, on_disk: bool, threaded: bool) -> None:
    logit_cache = LogitCache(tmp_path / "logit_cache" if on_disk else None)
    for _ in range(2):  # it can be used again
        with logit_cache.writing() if threaded else nullcontext():
            for number in range(2 * MOST_WAITING):
                logit_cache.put(number, batch(number))
        assert logit_cache.whole == 2 * MOST_WAITING
        assert all(torch.equal(logit_cache.get(number), batch(number)) for number in range(2 * MOST_WAITING))
        logit_cache.clear()
        assert logit_cache.whole == 0 and not list(tmp_path.iterdir())


def slow_disk(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Nothing is written before the event."""
    disk, write = threading.Event(), module._write

    def slow(path: Path, logits: torch.Tensor) -> None:
        assert disk.wait(30)
        write(path, logits)

    monkeypatch.setattr(module, "_write", slow)
    return disk


def test_who_puts_does_not_wait_for_the_disk_until_too_many_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, logit_cache = slow_disk(monkeypatch), LogitCache(tmp_path)
    with logit_cache.writing():
        for number in range(MOST_WAITING):
            logit_cache.put(number, batch(number))
        assert not list(tmp_path.iterdir())
        one_more = threading.Thread(target=logit_cache.put, args=(MOST_WAITING, batch(MOST_WAITING)))
        one_more.start()
        one_more.join(0.2)
        assert one_more.is_alive()  # it waits for the first
        disk.set()
        one_more.join(30)
        assert not one_more.is_alive()
    assert logit_cache.whole == MOST_WAITING + 1


def test_after_an_error_all_that_was_put_is_there_and_nobody_writes_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a thread could write into the folder of the pass that comes next."""
    disk, logit_cache = slow_disk(monkeypatch), LogitCache(tmp_path)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), logit_cache.writing():
        for number in range(3):
            logit_cache.put(number, batch(number))
        disk.set()
        raise KeyboardInterrupt
    assert threading.active_count() == before
    assert LogitCache(tmp_path).whole == 3  # another logit_cache finds them


@pytest.mark.parametrize("after", [0, 2 * MOST_WAITING])
def test_a_batch_that_could_not_be_written_is_not_passed_over(tmp_path: Path, after: int) -> None:
    (tmp_path / "logit_cache" / "000001.npy").mkdir(parents=True)  # a folder where the file should be
    logit_cache = LogitCache(tmp_path / "logit_cache")
    with pytest.raises(CheckpointError, match=r"cannot write .*000001\.npy"), logit_cache.writing():
        for number in range(2 + after):
            logit_cache.put(number, batch(number))
    logit_cache.clear()
    assert not list(tmp_path.iterdir())
