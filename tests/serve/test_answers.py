"""Faults in words that give no path away."""

from endotransfer.data.folders.faults import failure
from endotransfer.errors import CheckpointError, DataError
from endotransfer.serve.answers import refuse_fault


def test_a_fault_keeps_its_words_and_loses_its_path() -> None:
    refusal = refuse_fault(failure("damaged", "/home/ada/a.png", "is cut short", "copy it again"))
    assert (refusal.status, refusal.code) == (400, "damaged")
    assert refusal.message == "the file is cut short; copy it again."


def test_an_error_without_a_fault_is_not_repeated() -> None:
    for error in (DataError("/home/ada is full."), CheckpointError("/home/ada/model is damaged.")):
        assert "/" not in refuse_fault(error).message
