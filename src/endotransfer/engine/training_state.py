"""What survives a restart: weights, optimisers and the step, as a checkpoint holds them."""

from collections.abc import Callable, Mapping
from typing import TypedDict

from torch import Tensor
from torch.optim import Optimizer

from endotransfer.engine.checkpoint import Checkpoint, load_weights_into, not_finite, save_checkpoint
from endotransfer.engine.optimiser_state import PackedOptimiser, pack_optimiser, unpack_optimiser
from endotransfer.engine.run_folder import RunFolder
from endotransfer.errors import CheckpointError, DataError, TrainingDiverged
from endotransfer.methods.base import Method


class TrainingState(TypedDict):
    """state.json of a checkpoint."""

    step: int
    steps: int  # of the whole run
    data: str  # digest of the images and their roles
    optimisers: dict[str, PackedOptimiser]  # by phase


def save_training(
    run: RunFolder, method: Method, optimisers: Mapping[str, Optimizer], *, step: int, steps: int, data: str
) -> None:
    """Write the checkpoint of `step`; weights that are not finite are refused, since nothing could go on from them."""
    tensors = {"weights": finite_weights(method, step)}
    state: TrainingState = {"step": step, "steps": steps, "data": data, "optimisers": {}}
    for phase, optimiser in optimisers.items():
        tensors[f"optimiser-{phase}"], state["optimisers"][phase] = pack_optimiser(optimiser)
    save_checkpoint(run.checkpoints, step, tensors, state)


def finite_weights(method: Method, step: int) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = method.state_dict()
    if broken := not_finite(weights):
        raise TrainingDiverged(
            f"the weights {', '.join(broken[:3])} are not finite after step {step}, so they are not saved; "
            "start a new run with a lower training.lr or with training.clip."
        )
    return weights


def restore_training(
    checkpoint: Checkpoint,
    run: RunFolder,
    method: Method,
    optimisers: Mapping[str, Optimizer],
    *,
    steps: int,
    data: str,
    changes: Callable[[], str] = lambda: "",
) -> None:
    """Put the weights and optimiser states of `checkpoint` in place; refused where the run is over other images.

    `changes` says which.
    """
    state = checkpoint.state
    if (state.get("steps"), state.get("data")) != (steps, data):
        found = changes()
        raise DataError(
            f"the images have changed since {run.path} was begun{f' ({found})' if found else ''}; bring back those it "
            "began with, or start a new run."
        )
    weights, packed = checkpoint.tensors.get("weights"), state.get("optimisers")
    if weights is None or not isinstance(packed, dict):
        lacking = "weights" if weights is None else "optimisers"
        raise CheckpointError(f"{checkpoint.path} holds no {lacking}; resume from an earlier checkpoint.")
    if state.get("step") != checkpoint.step or not 0 <= checkpoint.step <= steps:
        raise CheckpointError(f"{checkpoint.path} is of no step of this run; resume from an earlier checkpoint.")
    if not_finite(weights):
        raise CheckpointError(f"{checkpoint.path} holds weights that are not finite; resume from an earlier one.")
    load_weights_into(method, weights, checkpoint.path)
    for phase, optimiser in optimisers.items():
        unpack_optimiser(optimiser, checkpoint.tensors.get(f"optimiser-{phase}", {}), packed.get(phase, {}))
