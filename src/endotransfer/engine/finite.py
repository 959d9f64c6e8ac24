"""A loss or gradient that is not finite stops the run before the update, and says which term and which images."""

import json
import math

from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import TrainingDiverged
from endotransfer.io import write_atomically


def stop_unless_finite(
    terms: dict[str, float], norm: float, phase: str, step: int, keys: list[str], run: RunFolder
) -> None:
    if all(math.isfinite(value) for value in terms.values()) and math.isfinite(norm):
        return
    guilty = [name for name, value in terms.items() if not math.isfinite(value)] or [f"the gradient of {phase}"]
    report = {
        "step": step,
        "phase": phase,
        "terms": {k: repr(v) for k, v in terms.items()},
        "gradient_norm": repr(norm),
    }
    write_atomically(
        run.path / "diverged.json",
        json.dumps({**report, "guilty": guilty, "images": keys}, indent=2),
        TrainingDiverged,
    )
    raise TrainingDiverged(
        f"training stopped at step {step} before the update: {', '.join(guilty)} is not finite (images "
        f"{', '.join(keys[:4])}{' ...' if len(keys) > 4 else ''}; all in {run.path / 'diverged.json'}); "
        "start a new run with a lower training.lr, with training.clip, or with a smaller weight of that term."
    )
