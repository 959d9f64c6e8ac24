"""The card of a published model: metadata that a hub reads, then the model's own card with the figures that count."""

import re
from collections.abc import Sequence

import yaml

from endotransfer.engine.calibration_text import calibration_text
from endotransfer.engine.model_card import figures_text
from endotransfer.engine.model_info import ModelInfo
from endotransfer.metrics import FIGURES
from endotransfer.pretrained.shipped_models import FENCE
from endotransfer.publish.publication import Publication
from endotransfer.publish.without_folders import without_folders
from endotransfer.results import Results, Temperature

LEADING = ("dice_lesion", "iou_lesion", "miou")  # of the figures that a hub lists
OF_NORMALS = ("normal_painted",)  # where no image has a lesion, so that the others say nothing
TAGS = ("endoscopy", "image-segmentation", "medical-imaging", "research-use-only")


def hub_card(
    card: str, info: ModelInfo, results: Sequence[Results], asked: Publication, fitted: Temperature | None = None
) -> str:
    """Markdown with YAML at its head.  `card`: the model folder's; `results`: of each set it was measured on.

    `fitted`: the run's own account of its temperature; `evaluate` repeats its value alone.
    """
    title, _, rest = without_folders(card).partition("\n")
    if asked.title:
        title = f"# {asked.title}"
    if results:
        rest = with_section(rest, "Figures", "\n\n".join(_figures(one, several=len(results) > 1) for one in results))
        rest = with_section(
            rest, "Calibration", calibration_text(results[0].calibration, fitted or results[0].temperature)
        )
    about = f"\n{asked.about_text().strip()}\n" if asked.about else ""
    pictures = "".join(f"\n![{_spelt(path.stem)}]({path.name})\n" for path in asked.pictures)
    shown = f"\n## Pictures\n{pictures}" if pictures else ""
    head = yaml.safe_dump(metadata(info, results, asked), sort_keys=False, allow_unicode=True)
    return f"{FENCE}{head}{FENCE}\n{title}\n{about}{rest.rstrip()}\n{shown}{_use(asked)}"


def metadata(info: ModelInfo, results: Sequence[Results], asked: Publication) -> dict[str, object]:
    """What stands between the two fences; `model-index` is the list of figures that hubs show."""
    found: dict[str, object] = {
        "license": asked.terms,
        "library_name": "endotransfer",
        "pipeline_tag": "image-segmentation",
        "tags": [*TAGS, str(info.model.get("backbone", "")), info.method.name],
        "datasets": list(asked.datasets),
        "metrics": ["dice", "iou"],
    }
    if entries := [_entry(one) for one in results]:
        found["model-index"] = [{"name": asked.title or info.method.name, "results": entries}]
    return found


def with_section(text: str, title: str, body: str) -> str:
    """`text` with what stands under `## title` replaced, up to the next heading of that rank."""
    pattern = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    return pattern.sub(lambda _: f"## {title}\n{body}\n\n", text, count=1)


def data_name(results: Results) -> str:
    """The folders that the test images came from."""
    kinds = results.intervals.group_kinds if results.intervals else {}
    return ", ".join(kinds) or results.name or "its test images"


def _entry(results: Results) -> dict[str, object]:
    name = data_name(results)
    metrics = [
        {"type": figure, "name": _named(results, figure), "value": round(value, 2)}
        for figure in (OF_NORMALS if _only_normals(results) else LEADING)
        if (value := results.figure(figure)) is not None
    ]
    data = {"name": f"{name} ({results.images:,} images)", "type": name}
    return {"task": {"type": "image-segmentation"}, "dataset": data, "metrics": metrics}


def _only_normals(results: Results) -> bool:
    return results.figure("dice_lesion") is None and results.figure("normal_painted") is not None


def _named(results: Results, figure: str) -> str:
    ends = results.interval(figure)
    span = f" (95 %: {ends[0]:.1f} to {ends[1]:.1f})" if ends else ""
    return f"{FIGURES.get(figure).label}, per cent{span}"


def _figures(results: Results, *, several: bool) -> str:
    return (f"### {data_name(results)}\n\n" if several else "") + figures_text(results)


def _use(asked: Publication) -> str:
    named = f"hf://{asked.to}" if asked.to else "THIS-FOLDER"
    return f"""
## How to use it
```sh
pip install endotransfer
endotransfer predict {named} image.jpg
```
"""


def _spelt(stem: str) -> str:
    return stem.replace("-", " ").replace("_", " ")
