"""The models that ship with the package, and what their cards say of them in a form that programs read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from endotransfer.errors import CheckpointError
from endotransfer.io import JSON, parse_yaml, read_bounded

FOLDER = Path(__file__).parent
CARD = "README.md"
FENCE = "---\n"  # around the YAML at the head of a card, as model hubs have it


@dataclass(frozen=True)
class ShippedModel:
    """One model folder of the package."""

    folder: Path
    metadata: Mapping[str, JSON] = field(repr=False)  # of its card

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def megabytes(self) -> float:
        return sum(file.stat().st_size for file in self.folder.iterdir()) / 1e6

    @property
    def terms(self) -> str:
        return str(self.metadata.get("license", "unknown"))

    @property
    def trained_on(self) -> list[str]:
        listed = self.metadata.get("datasets")
        return [str(name) for name in listed] if isinstance(listed, list) else []

    @property
    def measured(self) -> list[str]:
        """A line for every set that it was measured on: `kvasir-seg: Dice, per cent: 80.1; ...`."""
        return [f"{where}: {'; '.join(figures)}" for where, figures in _measured(self.metadata).items()]


def shipped_names() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob("*/config.json"))


def shipped_models() -> list[ShippedModel]:
    return [ShippedModel(FOLDER / name, card_metadata(FOLDER / name / CARD)) for name in shipped_names()]


def card_metadata(card: Path) -> dict[str, JSON]:
    """The YAML between two fences at the head of a card; empty where there is none."""
    try:
        text = read_bounded(card, CheckpointError).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    head, fence, _ = text.removeprefix(FENCE).partition("\n" + FENCE)
    if not (text.startswith(FENCE) and fence):
        return {}
    found = parse_yaml(head, str(card), CheckpointError, "mend the lines between its two ---")
    return found if isinstance(found, dict) else {}


def _measured(metadata: Mapping[str, JSON]) -> dict[str, list[str]]:
    """Data set -> `figure value`, out of `model-index`."""
    found: dict[str, list[str]] = {}
    for model in _mappings(metadata.get("model-index")):
        for result in _mappings(model.get("results")):
            data = result.get("dataset")
            where = str(data.get("name")) if isinstance(data, dict) else "?"
            metrics = [f"{one.get('name')}: {one.get('value')}" for one in _mappings(result.get("metrics"))]
            found.setdefault(where, []).extend(metrics)
    return found


def _mappings(value: JSON) -> list[dict[str, JSON]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
