"""The card of a bundle: the model's own, with what the run knows of its data and figures, and how the graph is used."""

import hashlib
import json
from pathlib import Path

from endotransfer.disclaimer import DISCLAIMER
from endotransfer.engine.model_folder import TrainedModel
from endotransfer.export.check import Check

FIGURES = {
    "mIoU": "miou",
    "IoU of normal": "iou_normal",
    "IoU of lesions": "iou_lesion",
    "Dice of lesions": "dice_lesion",
}


def bundle_card(run: Path, model_folder: Path, model: TrainedModel, size: tuple[int, int] | None, check: Check) -> str:
    """Markdown; what a copied model folder no longer knows is said to be unknown."""
    card = (model_folder / "README.md").read_text(encoding="utf-8") if (model_folder / "README.md").is_file() else ""
    results = _read(run / "results.json")
    parts = [card.rstrip(), _fingerprint(run, model, results), _figures(results), _graph(model, size, check)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _fingerprint(run: Path, model: TrainedModel, results: dict[str, object]) -> str:
    lines = [
        "## Data fingerprint",
        f"- images with their roles: `{_digest_of_data(run) or 'unknown (exported without its run)'}`",
        f"- test images: {results.get('images', 'unknown')}, "
        f"drawn in {_of(results, 'intervals').get('groups', 'unknown')} groups",
        f"- weights: sha256 `{model.info.sha256}`",
    ]
    return "\n".join(lines)


def _digest_of_data(run: Path) -> str | None:
    """What the last checkpoint says of its training images; without one, of the settings that name them."""
    states = sorted((run / "checkpoints").glob("step-*/state.json"))
    if states and (digest := _read(states[-1]).get("data")):
        return str(digest)
    config = run / "config.yaml"
    return f"config.yaml {hashlib.sha256(config.read_bytes()).hexdigest()[:32]}" if config.is_file() else None


def _figures(results: dict[str, object]) -> str:
    if results.get("miou") is None:
        return ""
    intervals = _of(results, "intervals")
    rows = [(title, results.get(key), intervals.get(key)) for title, key in FIGURES.items()]
    rows += [
        (f"IoU of class {name}", value, _of(intervals, "iou").get(name)) for name, value in _of(results, "iou").items()
    ]
    table = [f"| {title} | {value:.2f} | {_span(span)} |" for title, value, span in rows if value is not None]
    head = [
        "## Figures with intervals",
        f"Per cent, on {results['images']} test images; the intervals (95 %) say how far a figure depends on WHICH "
        "patients were tested.",
        "",
        "| figure | value | interval |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *table])


def _span(span: object) -> str:
    if not isinstance(span, list) or len(span) != 2 or None in span:
        return "n/a"
    return f"{span[0]:.2f} to {span[1]:.2f}"


def _graph(model: TrainedModel, size: tuple[int, int] | None, check: Check) -> str:
    takes = f"{size[1]} x {size[0]} pixels (width x height)" if size else "any size"
    tag = "\n- out: `lesion_probability`, float32 [batch]" if model.info.tags else ""
    return f"""## The exported graph
- in: `images`, uint8 [batch, height, width, 3], RGB, {takes}; resizing and colours are inside the graph
- out: `probabilities`, float32 [batch, {len(model.classes)}, height, width], classes as in `labels.json`{tag}
- checked: {check.sentence()}

**{DISCLAIMER}**"""


def _of(values: dict[str, object], key: str) -> dict[str, object]:
    found = values.get(key)
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
