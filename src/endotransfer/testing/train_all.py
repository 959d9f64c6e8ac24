"""Trains every experiment of a folder, one after the other, in however many processes it was launched with."""

import sys
from pathlib import Path

import torch

from endotransfer.config import read_experiment
from endotransfer.engine.run import train

if __name__ == "__main__":
    torch.set_num_threads(1)
    for path in sorted(Path(sys.argv[1]).glob("*.yaml")):
        train(read_experiment(path), path.with_suffix(""))
