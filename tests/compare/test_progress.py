"""The time left is estimated by method, and by the average where a method is new."""

from endotransfer.compare.progress import seconds_left


def test_each_method_counts_by_its_own_time() -> None:
    known = [("lta", 10.0), ("lta", 20.0), ("cycada", 60.0)]
    assert seconds_left(["lta", "cycada"], known, jobs=1) == 15 + 60
    assert seconds_left(["lta", "cycada"], known, jobs=3) == 25
    assert seconds_left(["new"], known, jobs=1) == 30
    assert seconds_left([], known, jobs=2) == 0
    assert seconds_left(["lta"], [], jobs=1) is None
