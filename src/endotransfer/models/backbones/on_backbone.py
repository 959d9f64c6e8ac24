"""What every network here has around its heads: a backbone, the colours it expects, and a domain to be in."""

import torch
from torch import Tensor, nn

from endotransfer.models.backbones.backbone import Backbone
from endotransfer.models.backbones.normalisation import PerDomainBatchNorm, domain_layers, set_domain


class DomainAware(nn.Module):
    """A network whose normalisation may keep statistics for each domain."""

    _found: tuple[nn.Module, list[PerDomainBatchNorm]] | None = None

    def _domain_layers(self) -> list[PerDomainBatchNorm]:
        # Found once: walking all modules in every forward costs a GPU more than a layer does.  (Not in __init__: a
        # deep copy, such as a teacher, must find its own; it knows itself by its first child.)
        first = next(self.children())
        if self._found is None or self._found[0] is not first:
            self._found = (first, domain_layers(self))
        return self._found[1]

    def enter(self, domain: str) -> None:
        """Choose whose statistics are used and moved, where there are two sets; it changes nothing else."""
        set_domain(self._domain_layers(), domain)


class OnBackbone(DomainAware):
    """The part of a network below its heads."""

    mean: Tensor
    std: Tensor

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        # Buffers travel with the weights, so a checkpoint is always fed the colours it was trained on.
        self.register_buffer("mean", torch.tensor(backbone.mean)[:, None, None])
        self.register_buffer("std", torch.tensor(backbone.std)[:, None, None])
        self.backbone = backbone

    @property
    def notes(self) -> list[str]:
        """What was decided on the user's behalf while building; worth a line in the log."""
        return self.backbone.notes

    def stages(self, images: Tensor) -> list[Tensor]:
        """Images [B, 3, H, W] in [0, 1] -> the backbone's feature maps, shallow to deep."""
        maps: list[Tensor] = self.backbone((images - self.mean) / self.std)
        return maps
