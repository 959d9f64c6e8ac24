"""The card beside a trained model: what it is for, what it was trained on, how good it was, where it fails."""

from collections.abc import Mapping

from endotransfer import __version__
from endotransfer.disclaimer import DISCLAIMER
from endotransfer.engine.calibration_text import calibration_text
from endotransfer.engine.model_info import ModelInfo
from endotransfer.engine.warning_text import warning_text
from endotransfer.metrics import FIGURES
from endotransfer.results import Results


def model_card(info: ModelInfo, results: Results, data: Mapping[str, int]) -> str:
    """Markdown.  `data`: counts by role; `results`: the figures of results.json."""
    counts = "\n".join(f"| {role} | {count} |" for role, count in data.items())
    return f"""# {info.method.name} ({info.method.preset})

**{DISCLAIMER}** Not for diagnosis, screening, or any decision about a patient.

## Intended use
Marks pixels as {", ".join(info.classes)} in endoscopy images like those of its target domain, for research.

## Data
| role | images |
|---|---|
{counts}

Images are resized to {info.shape[0]}x{info.shape[1]} (bilinear) before they enter the network; masks come out at
the image's own size.

## Figures
{figures_text(results)}

## Calibration
{calibration_text(results.calibration, results.temperature)}

## Images that it has not seen
{warning_text(results.familiarity)}

{_remarks(results)}## Where it fails
- On images of another kind of endoscope than its target domain: measure before you trust it (`endotransfer evaluate`).
- On text, frames and boxes burnt into images, and on bubbles, bile and reflections, which resemble lesions.
- Its probabilities hold, as far as they do, for images like those it was measured on.

## How it was made
endotransfer {__version__}, backbone {info.model["backbone"]}; `config.yaml` of the run holds every setting.
"""


def figures_text(results: Results) -> str:
    """A table of the leading figures, or why there are none."""
    if results.figure("miou") is None:
        return "No image with a mask was there to measure on; see `tag_evidence` in results.json."
    names = {FIGURES.get("miou").label: "miou"} | {f"IoU {name}": f"iou.{name}" for name in results.classes}
    names |= {"Dice lesion": "dice_lesion"} if results.figure("dice_lesion") is not None else {}
    if results.figure("normal_painted") is not None:
        names["pixels of normal images that are marked"] = "normal_painted"
    rows = [f"| {title} | {_number(results.figure(figure))} | {_span(results.interval(figure))} |"
            for title, figure in names.items()]  # fmt: skip
    lines = [f"On {results.images:,} test images, seed {results.seed}, {results.date}:", ""]
    return "\n".join([*lines, "| figure | per cent | 95 % |", "|---|---|---|", *rows])


def _remarks(results: Results) -> str:
    """What training found that whoever uses the model should know."""
    collapsed = [f"the model {results.collapsed}."] if results.collapsed else []
    lines = [f"- {remark[:1].upper()}{remark[1:]}" for remark in [*collapsed, *results.remarks]]
    return "\n".join(["## Remarks", *lines, "", ""]) if lines else ""


def _span(ends: tuple[float, float] | None) -> str:
    return "n/a" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"
