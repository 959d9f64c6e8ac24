"""Reductions over processes, in two real ones."""

from pathlib import Path

from torch.multiprocessing.spawn import spawn

from tests.pseudo_labels.two_processes import check


def test_two_processes_equal_one(tmp_path: Path) -> None:
    spawn(check, args=(f"file://{tmp_path}/rendezvous",), nprocs=2)  # type: ignore[no-untyped-call]
