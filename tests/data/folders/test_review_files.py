"""Reviews between processes: simultaneous decisions and killed writers leave whole decisions, and lose none."""

from pathlib import Path

from perf.review_kills import decide, kill_writers, mixtures, race


def test_of_simultaneous_decisions_none_is_mixed_and_none_that_was_confirmed_is_lost(tmp_path: Path) -> None:
    yes, on_record = race(tmp_path, decisions=60)
    assert yes == on_record >= 60
    assert mixtures(tmp_path) == 0


def test_a_killed_writer_leaves_the_old_decision_or_the_new_one(tmp_path: Path) -> None:
    decide(tmp_path, 1)
    assert kill_writers(tmp_path, kills=20) > 1
    decide(tmp_path, 2)  # no lock is left behind
    assert mixtures(tmp_path) == 0
