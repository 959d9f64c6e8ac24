"""Load a local safetensors file into a timm backbone: every name and shape is checked, nothing is guessed."""

from collections.abc import Collection
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from timm.models._features import FeatureGetterNet
from torch import Tensor, nn

from endotransfer.errors import CheckpointError, ConfigError
from endotransfer.models.backbones.mobilenet_names import timm_name

MOST_BYTES = 2 * 1024**3
MOST_HEADER_BYTES = 1_000_000
CLASSIFIERS = ("fc.", "classifier.", "head.", "last_linear.")
COUNTERS = "num_batches_tracked"  # of BatchNorm; many converters leave them out, and nothing reads them


def load_weights(net: nn.Module, path: Path, classification_names: Collection[str] = ()) -> str:
    """Fill `net` (a timm feature extractor) from the file at `path`; returns a note for the log.

    The file must hold every parameter and statistic of `net`, in its shape; in addition it may hold
    `classification_names`, what the architecture has behind its features, and a classifier.  Where the backbone is a
    part of a larger model in the file (`trunk.` of SAM 2), the other parts are left alone.  Half precision is widened
    to the dtype of `net`.
    """
    tensors = _read(path)
    bare = net.model if isinstance(net, FeatureGetterNet) else net  # timm's wrapper around a whole transformer
    wanted = {name: value for name, value in bare.state_dict().items() if not name.endswith(COUNTERS)}
    prefix = backbone_prefix(tensors, wanted)
    theirs = _names_under(prefix, tensors, wanted)
    _check_names(path, wanted, theirs, classification_names)
    for name, target in wanted.items():
        _check_value(path, theirs[name], tensors[theirs[name]], target)
    with torch.no_grad():
        for name, target in wanted.items():
            target.copy_(tensors[theirs[name]])
    part = f" (its part {prefix.rstrip('.')})" if prefix else ""
    return f"backbone: {len(wanted)} tensors from {path.name}{part}"


def backbone_prefix(names: Collection[str], wanted: Collection[str]) -> str:
    """What stands before the names of a backbone's tensors in the file of a larger model, such as `trunk.`; or ""."""
    parts = [name.split(".") for name in names]
    prefixes = dict.fromkeys(".".join([*part[:depth], ""]) for depth in (1, 2) for part in parts)
    return next((one for one in ("", *prefixes) if _names_under(one, names, wanted).keys() >= {*wanted}), "")


def _names_under(prefix: str, names: Collection[str], wanted: Collection[str]) -> dict[str, str]:
    """The feature extractor's name of a tensor -> the file's, for those whose name begins with `prefix`."""
    return {_rename(name.removeprefix(prefix), wanted): name for name in names if name.startswith(prefix)}


def read_metadata(path: Path) -> dict[str, str]:
    """The free text that a safetensors file carries about itself."""
    _check_size(path)
    try:
        with safe_open(path, framework="pt") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, OSError) as reason:
        raise _damaged(path) from reason


def _read(path: Path) -> dict[str, Tensor]:
    _check_size(path)
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as reason:
        raise _damaged(path) from reason


def _check_size(path: Path) -> None:
    """Refuse what is no file, or would take unreasonable memory, before anything is parsed."""
    if not path.is_file():
        raise ConfigError(f"model.weights: there is no file {path}; correct the path.")
    try:
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
    except OSError as reason:
        raise ConfigError(f"model.weights: {path} cannot be read; check its permissions.") from reason
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise ConfigError(f"model.weights: {path} is larger than 2 GB; choose a smaller backbone.")
    if header > size - 8:
        raise _damaged(path)
    if header > MOST_HEADER_BYTES:
        raise ConfigError(f"model.weights: {path} has a header of more than 1 MB; choose another file.")


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"model.weights: {path} is no whole safetensors file; fetch or copy it again.")


def _rename(name: str, wanted: Collection[str]) -> str:
    """A file's name for a tensor -> the feature extractor's: `stages.0.x` becomes `stages_0.x` where timm flattens."""
    name = timm_name(name)
    flattened = name.replace(".", "_", 1)
    return flattened if flattened in wanted else name


def _check_names(
    path: Path, wanted: Collection[str], theirs: dict[str, str], classification_names: Collection[str]
) -> None:
    missing = [name for name in wanted if name not in theirs]
    if missing:
        raise ConfigError(f"model.weights: {path} lacks {_some(missing)}; choose a file for this backbone.")
    known = {*wanted, *classification_names}
    strange = [name for ours, name in theirs.items() if ours not in known and not _harmless(ours)]
    if strange:
        raise ConfigError(
            f"model.weights: {path} holds {_some(strange)}, unknown here; choose a file for this backbone."
        )


def _harmless(name: str) -> bool:
    return name.startswith(CLASSIFIERS) or name.endswith(COUNTERS)


def _check_value(path: Path, name: str, value: Tensor, target: Tensor) -> None:
    if value.shape != target.shape:
        raise ConfigError(
            f"model.weights: '{name}' in {path} has shape {tuple(value.shape)} where this backbone has "
            f"{tuple(target.shape)}; choose a file for this backbone."
        )
    if not bool(torch.isfinite(value).all()):
        raise CheckpointError(f"model.weights: '{name}' in {path} holds values that are not finite; fetch it again.")


def _some(names: list[str], most: int = 3) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + rest
