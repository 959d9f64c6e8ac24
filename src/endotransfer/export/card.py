"""The card of a bundle: the model's own, with what the run knows of its data and figures, and how the graph is used."""

import hashlib
from pathlib import Path

from endotransfer.disclaimer import DISCLAIMER
from endotransfer.engine.model_folder import TrainedModel
from endotransfer.errors import CheckpointError
from endotransfer.export.check import Check
from endotransfer.io import read_bounded, read_json_object
from endotransfer.metrics.figure import figures, leading_first
from endotransfer.metrics.group_kinds import describe_groups
from endotransfer.results import Results


def bundle_card(run: Path, model_folder: Path, model: TrainedModel, size: tuple[int, int] | None, check: Check) -> str:
    """Markdown; what a copied model folder no longer knows is said to be unknown."""
    card = _text_of(model_folder / "README.md")
    results = Results.read_if_whole(run / "results.json")
    parts = [card.rstrip(), _fingerprint(run, model, results), _figures(results), _graph(model, size, check)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _fingerprint(run: Path, model: TrainedModel, results: Results | None) -> str:
    images = results.images if results else None
    drawn = results.intervals if results else None
    groups = "unknown" if drawn is None else describe_groups(drawn.group_kinds) or f"{drawn.groups} groups"
    lines = [
        "## Data fingerprint",
        f"- images with their roles: `{_digest_of_data(run) or 'unknown (exported without its run)'}`",
        f"- test images: {'unknown' if images is None else images}; drawn as one in the bootstrap: {groups}",
        f"- weights: sha256 `{model.info.sha256}`",
    ]
    return "\n".join(lines)


def _digest_of_data(run: Path) -> str | None:
    """What the last checkpoint says of its training images; without one, of the settings that name them."""
    states = sorted((run / "checkpoints").glob("step-*/state.json"))
    if states and (digest := _data_of(states[-1])):
        return digest
    config = run / "config.yaml"
    if not config.is_file():
        return None
    content = read_bounded(config, CheckpointError, "restore it from a copy, or remove it")
    return f"config.yaml {hashlib.sha256(content).hexdigest()[:32]}"


def _text_of(path: Path) -> str:
    if not path.is_file():
        return ""
    return read_bounded(path, CheckpointError, "restore it from a copy, or remove it").decode(errors="replace")


def _data_of(state: Path) -> str | None:
    try:
        data = read_json_object(state, CheckpointError).get("data")
    except CheckpointError:
        return None
    return data if isinstance(data, str) and data else None


def _figures(results: Results | None) -> str:
    if results is None or results.figure("miou") is None:
        return ""
    of_classes = results.figures.get("iou")
    by_class = of_classes if isinstance(of_classes, dict) else {}
    shown = [figure for figure in leading_first(figures(results.classes)) if figure.compared and not figure.by_class]
    names = {figure.heading: figure.name for figure in shown if figure.unit == "%"}
    names |= {f"IoU of class {name}": f"iou.{name}" for name in by_class}
    values = [(title, results.figure(name), results.interval(name)) for title, name in names.items()]
    table = [f"| {title} | {value:.2f} | {_span(ends)} |" for title, value, ends in values if value is not None]
    head = [
        "## Figures with intervals",
        f"Per cent, on {results.images} test images; the intervals (95 %) say how far a figure depends on WHICH "
        "images were tested, and nothing of other seeds.",
        "",
        "| figure | value | interval |",
        "|---|---|---|",
    ]
    return "\n".join([*head, *table])


def _span(ends: tuple[float, float] | None) -> str:
    return "n/a" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


def _warning(model: TrainedModel) -> str:
    if model.familiarity is None:
        return "- images unlike the training images: this model cannot tell them, nothing was fitted to tell them by"
    by = "`features`, float32 [batch, C], and " if model.familiarity.features is not None else ""
    return (
        f"- out: {by}`familiarity.safetensors`: by these `endotransfer predict` warns of images unlike the training's"
    )


def _graph(model: TrainedModel, size: tuple[int, int] | None, check: Check) -> str:
    takes = f"{size[1]} x {size[0]} pixels (width x height)" if size else "any size"
    tag = "\n- out: `lesion_probability`, float32 [batch]" if model.info.tags else ""
    tag += "\n" + _warning(model)
    return f"""## The exported graph
- in: `images`, uint8 [batch, height, width, 3], RGB, {takes}; resizing and colours are inside the graph
- out: `probabilities`, float32 [batch, {len(model.classes)}, height, width], classes as in `labels.json`{tag}
- checked: {check.sentence()}

**{DISCLAIMER}**"""
