"""Jobs in threads: the results are those of a plain loop, and no more is made than is worth making."""

import threading

import pytest

from endotransfer.data.pipeline.threads import in_threads, one_ahead


def test_threads_keep_the_order() -> None:
    assert in_threads(lambda x: x * x, range(50)) == [x * x for x in range(50)]


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_one_ahead_is_a_map(count: int) -> None:
    assert list(one_ahead(lambda x: x + 1, range(count))) == [x + 1 for x in range(count)]


def test_the_next_result_is_made_while_one_is_in_use_and_the_one_after_it_is_not() -> None:
    begun = [threading.Event() for _ in range(4)]

    def job(x: int) -> int:
        begun[x].set()
        return x

    results = one_ahead(job, range(4))
    assert next(results) == 0
    assert begun[1].wait(10)
    assert not begun[2].wait(0.05)
    assert next(results) == 1
    assert begun[2].wait(10) and not begun[3].wait(0.05)
    results.close()
    assert not begun[3].is_set()


def test_an_error_comes_in_its_place() -> None:
    def job(x: int) -> int:
        return 1 // (2 - x)

    results = one_ahead(job, range(4))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)
