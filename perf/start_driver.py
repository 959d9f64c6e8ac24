"""Run by `perf.bench_start` in a process of its own: a training up to its first step, with the time of every part.

Beside the seconds on the clock stand those of cores, which other work on the machine does not lengthen.
"""

import json
import os
import sys
import time

SPAWNED = float(os.environ["PERF_SPAWNED"])
taken: dict[str, float] = {}


def add(label: str, seconds: float, core: float) -> None:
    taken[label] = taken.get(label, 0.0) + seconds
    taken[f"{label}, cores"] = taken.get(f"{label}, cores", 0.0) + core


def timed(owner: object, name: str, label: str) -> None:
    """Replace a function by itself, its seconds added up under `label`."""
    work = getattr(owner, name)

    def measured(*given: object, **named: object) -> object:
        began, before = time.time(), time.process_time()
        try:
            return work(*given, **named)
        finally:
            add(label, time.time() - began, time.process_time() - before)

    setattr(owner, name, measured)


def main(experiment: str, out: str) -> None:
    taken["python"] = time.time() - SPAWNED
    began = time.time()
    from endotransfer.api import read_experiment
    from endotransfer.engine import run
    from endotransfer.engine.callbacks import Callback
    from endotransfer.engine.target_pass import TargetPasses
    from endotransfer.engine.trainer import Trainer
    from endotransfer.engine.training_progress import TrainingProgress  # noqa: F401  (all that a run imports)

    add("imports", time.time() - began, time.process_time())
    timed(run, "load_data", "reading tables")
    timed(run, "_notes_on_test_masks", "checking test masks")
    timed(run, "start_fabric", "fabric")
    timed(run, "load_training_data", "decoding")
    timed(Trainer, "__init__", "trainer")
    timed(TargetPasses, "prepare", "prepare")
    timed(TargetPasses, "_build_superpixels", "super-pixels")
    timed(TargetPasses, "pass_over_target", "target pass, super-pixels included")

    class FirstStep(Callback):
        def on_step(self, event: object) -> None:
            print(
                json.dumps({"first_step": time.time() - SPAWNED, "cores_all": time.process_time(), **taken}), flush=True
            )
            os._exit(0)

    run.train(read_experiment(experiment), out, callbacks=[FirstStep()])


if __name__ == "__main__":
    main(*sys.argv[1:])
