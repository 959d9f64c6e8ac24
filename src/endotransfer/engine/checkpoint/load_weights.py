"""Put stored weights into a network, all of them or none."""

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor, nn

from endotransfer.errors import CheckpointError

_NAMED_AT_MOST = 3


def load_weights_into(module: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Copy `tensors` into `module`; names and shapes must be exactly its own.  `path` is for the message."""
    check_fits(module, tensors, path)
    module.load_state_dict(tensors, strict=True)


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """The names of tensors with a NaN or an infinity in them."""
    return [name for name, value in tensors.items() if value.is_floating_point() and not value.isfinite().all()]


def check_fits(module: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Refuse `tensors` of other names or shapes than those of `module`, which may be a mere outline."""
    expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    differing = [name for name in sorted(expected | found) if expected.get(name) != found.get(name)]
    if differing:
        raise CheckpointError(
            f"{path} belongs to another model: {_told(differing, expected, found)}; "
            "use the configuration it was trained with."
        )


def _told(differing: list[str], expected: dict[str, tuple[int, ...]], found: dict[str, tuple[int, ...]]) -> str:
    told = [_difference(name, expected.get(name), found.get(name)) for name in differing[:_NAMED_AT_MOST]]
    more = len(differing) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")


def _difference(name: str, expected: tuple[int, ...] | None, found: tuple[int, ...] | None) -> str:
    if found is None:
        return f"'{name}' is missing"
    if expected is None:
        return f"'{name}' is unknown"
    return f"'{name}' has shape {list(found)} instead of {list(expected)}"
