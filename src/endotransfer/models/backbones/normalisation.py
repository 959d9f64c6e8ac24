"""Normalisation as a named choice, because ordinary BatchNorm breaks where two domains share a network.

`frozen`      BatchNorm with the statistics of the pretrained weights, for good; scale and shift still learn.
`group`       GroupNorm in its place (scale and shift copied): no statistics of a batch at all.
`per_domain`  BatchNorm with one set of statistics for each domain; scale and shift are shared.
`batch`       ordinary BatchNorm.
"""

from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from endotransfer.errors import ConfigError
from endotransfer.registry import nearest

DOMAINS = ("source", "target")
MOST_GROUPS = 32


class FrozenBatchNorm(nn.BatchNorm2d):
    """BatchNorm that never enters training mode: y = weight (x - running mean) / running deviation + bias."""

    folded = False  # True: the convolution before it does its work (models/folding.py)

    def forward(self, x: Tensor) -> Tensor:
        return x if self.folded else super().forward(x)

    def scale_and_shift(self) -> tuple[Tensor, Tensor]:
        """y = scale x + shift, a channel each: [C], [C]."""
        assert self.running_mean is not None and self.running_var is not None
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        return scale, self.bias - scale * self.running_mean

    def train(self, mode: bool = True) -> "FrozenBatchNorm":
        super().train(False)
        return self


class PerDomainBatchNorm(nn.Module):
    """BatchNorm over [B, C, h, w] with statistics of its own for each domain; `domain` says which are used."""

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float | None = 0.1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.statistics = nn.ModuleDict(
            {name: nn.BatchNorm2d(channels, eps=eps, momentum=momentum, affine=False) for name in DOMAINS}
        )
        self.domain = DOMAINS[0]

    def forward(self, x: Tensor) -> Tensor:
        used = cast(nn.BatchNorm2d, self.statistics[self.domain])
        seen = cast(Tensor, used.num_batches_tracked)
        if self.training:
            seen += 1
        # A momentum of None means the plain average of all batches so far, as in BatchNorm2d.
        momentum = used.momentum if used.momentum is not None else 1 / max(1, int(seen))
        return batch_norm(
            x, used.running_mean, used.running_var, self.weight, self.bias, self.training, momentum, used.eps
        )


def apply_norm(module: nn.Module, kind: str) -> None:
    """Turn every BatchNorm2d inside `module` into the named kind, in place, keeping what it has learnt."""
    convert = _conversion(kind)
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.BatchNorm2d) and convert is not None:
                setattr(parent, name, _with_activation(convert(child), child))


def head_norm(kind: str, channels: int) -> nn.Module:
    """A new layer for a head.  A head has no pretrained statistics to freeze: `frozen` gives it GroupNorm."""
    if _conversion(kind) in (_frozen, _group):
        return nn.GroupNorm(groups_of(channels), channels)
    return PerDomainBatchNorm(channels) if kind == "per_domain" else nn.BatchNorm2d(channels)


def domain_layers(module: nn.Module) -> list[PerDomainBatchNorm]:
    """The layers inside `module` that keep statistics per domain."""
    return [layer for layer in module.modules() if isinstance(layer, PerDomainBatchNorm)]


def set_domain(layers: Iterable[PerDomainBatchNorm], domain: str) -> None:
    """Choose whose statistics `layers` use and move."""
    if domain not in DOMAINS:
        raise ValueError(f"domain must be one of {DOMAINS}, not {domain!r}")
    for layer in layers:
        layer.domain = domain


def groups_of(channels: int, most: int = MOST_GROUPS) -> int:
    """The largest number of equal groups, at most `most`, that `channels` can be cut into."""
    return max(count for count in range(1, min(channels, most) + 1) if channels % count == 0)


def _conversion(kind: str) -> Callable[[nn.BatchNorm2d], nn.Module] | None:
    conversions = {"frozen": _frozen, "group": _group, "per_domain": _per_domain, "batch": None}
    if kind not in conversions:
        raise ConfigError(f"model.norm '{kind}' is unknown; {nearest(kind, list(conversions))}")
    return conversions[kind]


def _frozen(old: nn.BatchNorm2d) -> nn.Module:
    new = FrozenBatchNorm(old.num_features, eps=old.eps)
    new.load_state_dict(_tensors_of(old))
    return new.eval()


def _group(old: nn.BatchNorm2d) -> nn.Module:
    new = nn.GroupNorm(groups_of(old.num_features), old.num_features, eps=old.eps)
    new.load_state_dict({name: value for name, value in _tensors_of(old).items() if name in ("weight", "bias")})
    return new


def _per_domain(old: nn.BatchNorm2d) -> nn.Module:
    new = PerDomainBatchNorm(old.num_features, eps=old.eps, momentum=old.momentum)
    learnt = _tensors_of(old)
    own = {name: learnt.pop(name) for name in ("weight", "bias")}
    new.load_state_dict(own | {f"statistics.{d}.{name}": value for d in DOMAINS for name, value in learnt.items()})
    return new


def _tensors_of(norm: nn.BatchNorm2d) -> dict[str, Tensor]:
    """Scale, shift and statistics only: timm's BatchNorm with an activation inside may hold more."""
    names = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    return {name: value for name, value in norm.state_dict().items() if name in names}


def _with_activation(new: nn.Module, old: nn.BatchNorm2d) -> nn.Module:
    """timm fuses BatchNorm with the dropout and activation behind it; they must outlive the replacement."""
    inside = [getattr(old, name, nn.Identity()) for name in ("drop", "act")]
    behind = [part for part in inside if not isinstance(part, nn.Identity)]
    return nn.Sequential(new, *behind) if behind else new
