"""A bounded queue: so many at once, so many waiting, a plain refusal for the rest."""

import asyncio
import threading

import pytest

from endotransfer.serve.answers import Refusal
from endotransfer.serve.lru_cache import LruCache
from endotransfer.serve.turns import Turns


def test_no_more_than_some_work_at_once_and_the_rest_is_refused() -> None:
    gate, at_work, most = threading.Event(), 0, 0
    lock = threading.Lock()

    def work() -> int:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        gate.wait(5)
        with lock:
            at_work -= 1
        return threading.get_ident()

    async def rush() -> list[object]:
        turns = Turns(parallel=2, waiting=3)
        asked = [asyncio.create_task(turns.run(work)) for _ in range(9)]
        await asyncio.sleep(0.1)
        gate.set()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert turns.taken == 0
        assert await turns.run(lambda: 7) == 7
        return list(answers)

    answers = asyncio.run(rush())
    refused = [answer for answer in answers if isinstance(answer, Refusal)]
    assert most == 2
    assert len(refused) == 4
    assert {refusal.status for refusal in refused} == {429}
    assert threading.get_ident() not in answers


def test_a_failure_gives_its_place_back() -> None:
    async def fail() -> int:
        turns = Turns(1, 0)
        with pytest.raises(ZeroDivisionError):
            await turns.run(lambda: 1 // 0)
        return turns.taken

    assert asyncio.run(fail()) == 0


def test_kept_bytes_stay_within_their_room() -> None:
    kept = LruCache(room=10)
    kept.put("a", b"1234")
    kept.put("b", b"1234")
    assert kept.get("a") == b"1234"  # used: `b` is now the oldest
    kept.put("c", b"1234")
    assert [kept.get(name) for name in "abc"] == [b"1234", None, b"1234"]
    kept.put("a", b"12")
    kept.put("d", b"1234")
    assert kept.get("c") == b"1234"  # 2 + 4 + 4: nothing had to go
    kept.put("e", b"x" * 11)
    assert kept.get("e") is None


def test_what_is_kept_is_made_once() -> None:
    kept, made = LruCache(), list[int]()
    for _ in range(2):
        assert kept.get_or_make("a", lambda: made.append(1) or b"x") == b"x"  # type: ignore[func-returns-value]
    assert made == [1]
