"""Reductions over processes, in two real ones."""

import torch.multiprocessing

from tests.pseudo_labels.two_processes import check


def test_two_processes_equal_one(tmp_path):
    torch.multiprocessing.spawn(check, args=(f"file://{tmp_path}/rendezvous",), nprocs=2)
