"""Learning rate as a pure function of the step: nothing to save, nothing to restore."""

import math

from endotransfer.config import TrainingConfig
from endotransfer.engine.plan import Epoch


def lr_factor_in(epoch: Epoch, training: TrainingConfig, step: int) -> float:
    """What the learning rate is multiplied with at `step` of the run, which lies in `epoch`, as its stage wants it."""
    stage = epoch.stage
    return stage.lr_scale * (1.0 if stage.constant_lr else lr_factor(training, *epoch.scheduled(step)))


def with_warmup(training: TrainingConfig, share: float, steps: int) -> TrainingConfig:
    """The experiment's settings with the warm-up that a method needs, a share of all steps, unless they have one."""
    return training if training.warmup_steps else training.model_copy(update={"warmup_steps": round(share * steps)})


def lr_factor(training: TrainingConfig, step: int, steps: int) -> float:
    """What the learning rate is multiplied with at `step` (from 0) of `steps`.

    The paper: exponential decay with rate 0.7 and step size 950, read as a staircase.
    """
    if step < training.warmup_steps:
        return (step + 1) / (training.warmup_steps + 1)
    done = step / max(steps, 1)
    match training.schedule:
        case "staircase":
            return float(training.decay ** (step // training.decay_steps))
        case "poly":
            return float((1 - done) ** training.power)
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * done))
        case _:
            return 1.0
