"""What survives a restart: weights, optimisers and the step, as a checkpoint holds them."""

from collections.abc import Mapping
from typing import TypedDict

from torch.optim import Optimizer

from endotransfer.engine.checkpoint import Checkpoint, load_weights_into, save_checkpoint
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
    weights = method.state_dict()
    broken = [name for name, value in weights.items() if value.is_floating_point() and not value.isfinite().all()]
    if broken:
        raise TrainingDiverged(
            f"the weights {', '.join(broken[:3])} are not finite after step {step}, so they are not saved; "
            "start a new run with a lower training.lr or with training.clip."
        )
    tensors = {"weights": weights}
    state: TrainingState = {"step": step, "steps": steps, "data": data, "optimisers": {}}
    for phase, optimiser in optimisers.items():
        tensors[f"optimiser-{phase}"], state["optimisers"][phase] = pack_optimiser(optimiser)
    save_checkpoint(run.checkpoints, step, tensors, state)


def restore_training(
    checkpoint: Checkpoint,
    run: RunFolder,
    method: Method,
    optimisers: Mapping[str, Optimizer],
    *,
    steps: int,
    data: str,
) -> None:
    """Put the weights and optimiser states of `checkpoint` in place; refused where the run is over other images."""
    state = checkpoint.state
    if (state.get("steps"), state.get("data")) != (steps, data):
        raise DataError(
            f"the images have changed since {run.path} was begun; bring back those it began with, or start a new run."
        )
    load_weights_into(method, checkpoint.tensors["weights"], checkpoint.path)
    packed = state.get("optimisers")
    if not isinstance(packed, dict):
        raise CheckpointError(f"{checkpoint.path} holds no optimisers; resume from an earlier checkpoint.")
    for phase, optimiser in optimisers.items():
        unpack_optimiser(optimiser, checkpoint.tensors.get(f"optimiser-{phase}", {}), packed.get(phase, {}))
