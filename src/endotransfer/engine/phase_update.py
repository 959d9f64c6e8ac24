"""One update of one phase: its losses, backward, gradients over all processes, and the optimiser's step."""

import torch
from lightning.fabric import Fabric
from torch import Tensor, nn
from torch.optim import Optimizer

from endotransfer.batch import NORMAL, Batch
from endotransfer.config import TrainingConfig
from endotransfer.distributed import sum_over_processes, world_size
from endotransfer.engine.gradients import average_over_processes, clipped_norm
from endotransfer.engine.optimisers import parameters_of, set_lr
from endotransfer.engine.run_folder import RunFolder
from endotransfer.engine.step_figures import StepFigures, on_their_way, skip_unless_finite
from endotransfer.losses.cross_entropy import segmentation
from endotransfer.methods.base import Memo, Method


class PhaseUpdate:
    """Updates the networks that a phase trains; every other weight stays as it is."""

    def __init__(
        self, fabric: Fabric, method: Method, training: TrainingConfig, optimisers: dict[str, Optimizer],
        dtype: torch.dtype, run: RunFolder,
    ) -> None:  # fmt: skip
        self.fabric, self.method, self.training, self.optimisers = fabric, method, training, optimisers
        self.dtype, self.run = dtype, run
        self._parameters = _parameters_by_network(method)

    def update(self, phase: str, batches: list[Batch], memos: list[Memo], lr_factor: float, step: int) -> StepFigures:
        """Minimise `phase` on `batches`; every term and the gradient's norm are returned, perhaps still on their way.

        Where they are not finite the weights stay as they are, and `settle` of what is returned stops the run.
        """
        optimiser = self.optimisers[phase]
        set_lr(optimiser, lr_factor)
        optimiser.zero_grad(set_to_none=True)
        terms, values = self.gradients(phase, batches, memos)
        found = self.told(phase, terms, values, batches, step)
        if not values.is_cuda:
            found.settle(self.run)
        self.follow(phase, values)
        return found

    def gradients(self, phase: str, batches: list[Batch], memos: list[Memo]) -> tuple[tuple[str, ...], Tensor]:
        """Leave the clipped gradients of `phase` with its weights; returns its terms, their means and the norm."""
        self._train_only(phase)
        sums = self._backward(phase, batches, memos)
        parameters = parameters_of(self.optimisers[phase])
        average_over_processes(parameters)
        norm = clipped_norm(parameters, self.training.clip)
        return tuple(sums), sum_over_processes(torch.stack([*sums.values(), norm.to(self.dtype)])) / world_size()

    def told(
        self, phase: str, terms: tuple[str, ...], values: Tensor, batches: list[Batch], step: int
    ) -> StepFigures:  # fmt: skip
        lr = self.optimisers[phase].param_groups[0]["lr"]
        return StepFigures(phase, step, terms, *on_their_way(values), lr, _keys(batches))

    def follow(self, phase: str, values: Tensor) -> None:
        """Take the optimiser's step along the gradients, unless one of `values` is not finite."""
        skip_unless_finite(self.optimisers[phase], values)
        self.optimisers[phase].step()

    def _backward(self, phase: str, batches: list[Batch], memos: list[Memo]) -> dict[str, Tensor]:
        """Gradients of the mean loss over `batches`; returns the mean of every term."""
        sums: dict[str, Tensor] = {}
        for batch, memo in zip(batches, memos, strict=True):
            with self.fabric.autocast():
                terms = self.method.losses(phase, batch, memo)
                if "segmenter" in self.method.phases[phase]:
                    terms |= self._terms_of_known_targets(batch)
            total = torch.stack(list(terms.values())).sum() / len(batches)
            if total.requires_grad:
                self.fabric.backward(total)
            for name, value in terms.items():
                sums[name] = sums.get(name, 0) + value.detach() / len(batches)
        return sums

    def _terms_of_known_targets(self, batch: Batch) -> dict[str, Tensor]:
        """What is known of target pixels supervises every method alike, while its segmenter trains.

        Masks that a person confirmed, and images tagged normal, of which every pixel is.
        """
        terms = {}
        if (reviewed := batch.reviewed) is not None:
            terms["reviewed"] = self.training.reviewed_weight * self._on_target(reviewed.images, reviewed.masks)
        if (normals := batch.normals) is not None:
            empty = torch.full_like(normals.images[:, 0], NORMAL, dtype=torch.long)
            terms["normals"] = self._on_target(normals.images, empty)
        return terms

    def _on_target(self, images: Tensor, masks: Tensor) -> Tensor:
        """Cross-entropy on target images [B, 3, H, W] with masks [B, H, W]."""
        return segmentation(self.method.segmenter(images, domain="target").at(images.shape[-2:]), masks)

    def _train_only(self, phase: str) -> None:
        """Gradients flow through every network but reach only the phase's own weights."""
        trained = self.method.phases[phase]
        for name, parameters in self._parameters.items():
            for parameter in parameters:
                parameter.requires_grad = name in trained


def _parameters_by_network(method: Method) -> dict[str, list[nn.Parameter]]:
    """Of all networks that some phase trains; listed once, since walking modules in every step is slow."""
    names = {name for networks in method.phases.values() for name in networks if hasattr(method, name)}
    return {name: list(method.get_submodule(name).parameters()) for name in sorted(names)}


def _keys(batches: list[Batch]) -> list[str]:
    parts = [part for one in batches for part in (one.source, one.target, one.reviewed, one.normals) if part]
    return [key for part in parts for key in part.keys]
