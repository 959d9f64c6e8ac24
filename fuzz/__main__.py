"""`python -m fuzz [--share 0.1] [--seed 0]`: damage, hostile requests and kills; ends with one screen.

The exit code is 1 where anything was found: a traceback, a hang, a silent change, growth.
"""

import argparse
import contextlib
import io
import random
import sys
import tempfile
from pathlib import Path

import torch

from fuzz.damaged_files import fuzz_files
from fuzz.hostile_requests import fuzz_requests
from fuzz.kept_files import fuzz_kept
from fuzz.kills import fuzz_kills
from fuzz.outcome import FuzzOutcome

SHOWN = 12  # problems


def run(share: float, seed: int) -> list[FuzzOutcome]:
    """Every area; each draws from its own seed, so that one can be repeated alone."""
    outcomes: list[FuzzOutcome] = []
    with tempfile.TemporaryDirectory() as name:
        for number, area in enumerate((fuzz_files, fuzz_kept, fuzz_kills, fuzz_requests)):
            folder = Path(name) / str(number)
            folder.mkdir()
            with contextlib.redirect_stderr(io.StringIO()):  # notes on old files, thousands of times
                outcomes += area(folder, share, random.Random(f"{seed} {number}"))
            print(f"{outcomes[-1].area} done", flush=True)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the full number of tries")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    outcomes = run(asked.share, asked.seed)
    problems = [f"{one.area}: {problem}" for one in outcomes for problem in one.problems]
    print(f"\nseed {asked.seed}, {sum(one.tried for one in outcomes)} tries, {len(problems)} problems")
    print(*(one.line() for one in outcomes), *(f"  {problem[:230]}" for problem in problems[:SHOWN]), sep="\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
