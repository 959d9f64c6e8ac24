"""Trains every experiment of a folder, one after the other, in however many processes it was launched with."""

import sys
from pathlib import Path

import torch

from endotransfer.engine.run import train
from endotransfer.experiment_file import read_experiment

if __name__ == "__main__":
    torch.set_num_threads(1)
    for path in sorted(Path(sys.argv[1]).glob("*.yaml")):
        train(read_experiment(path), path.with_suffix(""))
